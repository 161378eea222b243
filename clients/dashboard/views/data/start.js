// start.js: what an empty daemon shows: where to drop a file, and examples that train at a click.

import { sendJson } from "../../api.js";
import { firstJob } from "../../columns.js";
import { h, setText } from "../../dom.js";
import { giveFiles } from "../../drop.js";
import { tables } from "../../examples.js";
import { announce, navigate } from "../../shell.js";
import { asFound, fileStored } from "./upload.js";

async function train({ id, csv, target }, signal) {
  const dataset = await fileStored(id, new File([csv()], `${id}.csv`), asFound, { signal });
  const job = await sendJson("POST", "/v1/jobs", firstJob(dataset, dataset.columns.findIndex(({ name }) => name === target), new Map()), { signal });
  announce("Submitted.");
  navigate(`#/jobs/${encodeURIComponent(job.id)}`);
}

// chooses: with a button that opens a file.
export function startPanel({ signal, chooses = true }) {
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const file = h("input", { type: "file", hidden: true, onchange: () => file.files.length && giveFiles(file.files) });
  const buttons = tables.map((table) => {
    const button = h("button", { type: "button", class: "button start-example" }, h("strong", null, table.title), h("span", { class: "muted" }, table.about));
    button.addEventListener("click", async () => {
      for (const each of buttons) each.disabled = true;
      failure.hidden = true;
      try {
        await train(table, signal);
      } catch (error) {
        if (signal.aborted) return;
        setText(failure, error.message);
        failure.hidden = false;
      } finally {
        for (const each of buttons) each.disabled = false;
      }
    });
    return button;
  });
  return h("div", { class: "start" },
    h("h2", null, "Drop a table, pictures or a series here"),
    h("p", { class: "muted" }, "CSV, JSON, NPY, NPZ, IDX, a ZIP or TAR of pictures; gz of any. You choose the column to predict, and press Train."),
    chooses && h("div", { class: "toolbar" }, h("button", { type: "button", class: "button primary", onclick: () => file.click() }, "Choose a file"), file),
    h("p", { class: "muted start-or" }, "Or train on an example:"),
    h("div", { class: "start-examples" }, buttons), failure);
}
