// shell.js: the page around a view: announcements, title, connection, navigation.

const live = document.getElementById("live");
const connection = document.getElementById("connection");
const notice = document.getElementById("notice");
let isNext = false; // the notice is for the view to come

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

// Shows text and nodes above the next view, for as long as that is shown; nothing removes them.
export function notify(...nodes) {
  notice.replaceChildren(...nodes);
  notice.hidden = !nodes.length;
  isNext = true;
}

// Another view is shown from now on.
export function noticeLeft() {
  notice.hidden ||= !isNext;
  isNext = false;
}

// Notes in the address what a view shows, so that a link has it: {word: text}; one that is "" or null goes. Nothing is mounted.
export function noteInAddress(words) {
  const [path, query] = location.hash.split(/\?(.*)/s);
  const noted = new URLSearchParams(query ?? "");
  for (const [word, text] of Object.entries(words)) {
    if (text) noted.set(word, text);
    else noted.delete(word);
  }
  history.replaceState(null, "", `${path}${noted.size ? `?${noted}` : ""}`);
}

// Goes to another view: navigate("#/jobs/job_…").
export function navigate(hash) {
  location.hash = hash;
}
