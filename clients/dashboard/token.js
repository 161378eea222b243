// token.js: the dialog for the daemon's token. Requests that are refused at the same time share one dialog.

import { shown } from "./dialog.js";
import { h } from "./dom.js";

let open = null;

// {token, keep}, or null when the user cancels.
export function askToken(reason, signal) {
  open ??= show(reason).finally(() => (open = null));
  if (!signal) return open;
  return Promise.race([open, new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }))]);
}

async function show(reason) {
  let entered = null;
  const input = h("input", { id: "token", type: "password", autocomplete: "off", required: true, "aria-describedby": "token-reason" });
  const keep = h("input", { id: "token-keep", type: "checkbox" });
  const cancel = h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel");
  const dialog = h(
    "dialog",
    { class: "dialog", "aria-labelledby": "token-title" },
    h(
      "form",
      { method: "dialog", onsubmit: () => (entered = { token: input.value.trim(), keep: keep.checked }) },
      h("h2", { id: "token-title" }, "Token"),
      h("p", { id: "token-reason" }, reason, " A token is a secret that identifies you to this daemon, like a password for programs. Ask the person who runs the daemon for one."),
      h("div", { class: "field" }, h("label", { for: "token" }, "Token"), input),
      h("label", { class: "check" }, keep, " Keep it in this browser"),
      h("details", { class: "more" }, h("summary", null, "Running the daemon yourself? Create a token"),
        h("p", null, "On its machine, with the file that epochd was given as ", h("code", null, "--token-file"), ":"),
        h("pre", null, "epochctl token add NAME --file FILE"),
        h("p", null, "The token is printed once; epochd accepts it after a restart, or SIGHUP.")),
      h("div", { class: "toolbar end" }, cancel, h("button", { class: "button primary" }, "Use it")),
    ),
  );
  const closed = shown(dialog);
  input.focus();
  await closed;
  return entered;
}
