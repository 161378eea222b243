// dialog.js: dialogs over the page, and the question before something that cannot be undone, or of what to do.

import { h } from "./dom.js";

// Shows it; resolves once it is closed, which it is too when `signal`, where there is one, says that its view goes.
export function shown(dialog, signal) {
  return new Promise((resolve) => {
    const leave = () => dialog.close();
    dialog.addEventListener("close", () => {
      signal?.removeEventListener("abort", leave);
      dialog.remove();
      resolve();
    });
    signal?.addEventListener("abort", leave);
    document.body.append(dialog);
    dialog.showModal();
  });
}

// The word among `words` whose button the user presses; null for the way out. kind: of these buttons, as classes. The focus is
// on the way out where something is lost, else on the first.
export async function asked({ title, lines, words, kind = "button" }, signal) {
  let pressed = null;
  const isLoss = kind.includes("danger");
  const buttons = words.map((word, i) => h("button", { type: "button", class: kind, autofocus: !isLoss && i === 0, onclick: () => {
    pressed = word;
    dialog.close();
  } }, word));
  const back = h("button", { type: "button", class: "button", autofocus: isLoss, onclick: () => dialog.close() }, "Go back");
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-lines" },
    h("h2", { id: "confirm-title" }, title), h("div", { id: "confirm-lines" }, lines.map((line) => h("p", null, line))),
    h("div", { class: "toolbar end" }, back, buttons));
  await shown(dialog, signal);
  return pressed;
}

// True when the user presses `button`; false for anything else.
export const confirmed = async ({ title, lines, button }, signal) => (await asked({ title, lines, words: [button], kind: "button danger" }, signal)) === button;
