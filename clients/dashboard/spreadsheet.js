// spreadsheet.js: the switch beside "Download CSV": an apostrophe goes before texts that a spreadsheet would run as a formula.

import { h } from "./dom.js";

const key = "epochd-spreadsheet";

// On unless it was switched off in this browser. node: of a toolbar; on(); query(): for a path of the daemon.
export function spreadsheetSwitch() {
  let chosen = null;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    // without storage the choice lasts as long as the view
  }
  const box = h("input", { type: "checkbox", checked: chosen !== "off", onchange: () => {
    try {
      localStorage.setItem(key, box.checked ? "on" : "off");
    } catch {
      // see above
    }
  } });
  const title = "Texts that begin with = + - @ get an apostrophe, so that no spreadsheet runs them as a formula. Numbers stay.";
  return { node: h("label", { class: "check", title }, box, "for a spreadsheet"), on: () => box.checked, query: () => (box.checked ? "&spreadsheet=1" : "") };
}

// A text of a CSV that is made here, as the daemon writes it.
export const harmless = (text) => (/^[=+\-@\t\r\n]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text);
