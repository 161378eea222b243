// confirm.js: a question before something that cannot be undone.

import { shown } from "./dialog.js";
import { h } from "./dom.js";

// True when the user presses `button`; false for anything else. The focus is on the way out.
export async function confirmed({ title, lines, button }, signal) {
  let agreed = false;
  const go = h("button", { type: "button", class: "button danger", onclick: () => {
    agreed = true;
    dialog.close();
  } }, button);
  const back = h("button", { type: "button", class: "button", autofocus: true, onclick: () => dialog.close() }, "Go back");
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-lines" },
    h("h2", { id: "confirm-title" }, title), h("div", { id: "confirm-lines" }, lines.map((line) => h("p", null, line))),
    h("div", { class: "toolbar end" }, back, go));
  await shown(dialog, signal);
  return agreed;
}
