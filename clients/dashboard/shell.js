// shell.js: what views may ask of the page around them.

const live = document.getElementById("live");
const connection = document.getElementById("connection");

// Says something to a screen reader, politely; repeated text is said once.
export function announce(text) {
  if (live.textContent !== text) live.textContent = text;
}

// The document's title; a view calls it when it learns a better one than its own.
export function setTitle(text) {
  document.title = `${text} · epochd`;
}

// Says beside the navigation that the daemon does not answer; null takes it away.
export function setConnection(text) {
  const shown = text ?? "";
  if (connection.textContent !== shown) connection.textContent = shown;
}

// Goes to another view: navigate("#/jobs/job_…").
export function navigate(hash) {
  location.hash = hash;
}
