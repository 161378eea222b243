// shell.js: the page around a view: announcements, title, connection, navigation.

const live = document.getElementById("live");
const connection = document.getElementById("connection");

// Sets the live region of screen readers; the same text again is not announced.
export function announce(text) {
  if (live.textContent !== text) live.textContent = text;
}

// Sets the document's title: a view's, once its data is loaded.
export function setTitle(text) {
  document.title = `${text} · epochd`;
}

// Shows a text beside the navigation, while the daemon does not respond; null removes it.
export function setConnection(text) {
  const shown = text ?? "";
  if (connection.textContent !== shown) connection.textContent = shown;
}

// Goes to another view: navigate("#/jobs/job_…").
export function navigate(hash) {
  location.hash = hash;
}
