// copy.js: a button that copies text, with or without the clipboard API (which needs https or localhost).

import { h, setText } from "./dom.js";
import { announce } from "./shell.js";

async function copy(text) {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
  const area = h("textarea", { class: "hidden" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("blocked by the browser");
}

// text() returns the text to copy.
export function copyButton(text, word = "Copy") {
  const button = h("button", { type: "button", class: "button" }, word);
  button.addEventListener("click", async () => {
    let outcome = "Copied";
    try {
      await copy(text());
    } catch {
      outcome = "Not copied";
    }
    setText(button, outcome);
    announce(outcome);
    setTimeout(() => setText(button, word), 1500);
  });
  return button;
}
