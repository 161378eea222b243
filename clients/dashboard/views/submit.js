// submit.js: a new job.

import { h } from "../dom.js";
import { sendJson } from "../api.js";
import { navigate } from "../shell.js";

export const title = "Submit";

export function mount(root, params, signal) {
  const text = h("textarea", { id: "spec", rows: "20", class: "code" });
  const form = h("form", null, h("div", { class: "field" }, h("label", { for: "spec" }, "Job"), text), h("button", { class: "button primary" }, "Submit"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const job = await sendJson("POST", "/v1/jobs", text.value, { signal });
    navigate(`#/jobs/${job.id}`);
  });
  root.append(h("h1", null, "Submit"), form);
}
