// drop.js: a file that is dropped on the page, whichever view it shows: the view takes it, or Data uploads it.

import { h, setText } from "./dom.js";
import { navigate } from "./shell.js";

let taker = null; // of the view that is shown: {onFiles, words}
let waiting = null; // files that no view has taken yet

// onFiles(files) gets what is dropped until `signal` aborts, and at once what was dropped before on a page without a taker.
// words: of the overlay.
export function takeFiles(onFiles, signal, words) {
  const mine = { onFiles, words };
  taker = mine;
  signal.addEventListener("abort", () => taker === mine && (taker = null), { once: true });
  const files = waiting;
  waiting = null;
  if (files) onFiles(files);
}

// As if they were dropped.
export function giveFiles(files) {
  if (taker) taker.onFiles(files);
  else uploadFiles(files);
}

// They go to Data, whichever view is shown.
export function uploadFiles(files) {
  waiting = files;
  navigate("#/datasets");
}

// A view that handles a drop by itself prevents the default before the event comes to the window.
const ours = (event) => !event.defaultPrevented && event.dataTransfer?.types.includes("Files");

export function watchDrops() {
  const words = h("strong");
  const overlay = h("div", { class: "drop-overlay", "aria-hidden": "true", hidden: true }, h("div", null, words, h("span", null, "a table, pictures or a series")));
  document.body.append(overlay);
  addEventListener("dragover", (event) => {
    overlay.hidden = !ours(event);
    if (!ours(event)) return;
    event.preventDefault();
    setText(words, taker?.words ?? "Drop it to upload");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || (overlay.hidden = true));
  addEventListener("drop", (event) => {
    overlay.hidden = true;
    if (!ours(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files.length) giveFiles(event.dataTransfer.files);
  });
}
