// datasets.js: the datasets: a dropped file becomes one; each has a page of its own.

import { allOf, ApiError, getJson, poll, sendJson } from "../../api.js";
import { confirmed } from "../../dialog.js";
import { h, keyed, replace, setText } from "../../dom.js";
import { age, bytes, dateTime, integer } from "../../format.js";
import { announce, navigate, notify } from "../../shell.js";
import { startPanel } from "./start.js";
import { jobsWords, uploadPanel } from "./upload.js";

export const title = "Data";

const heads = ["Name", "Format", "Rows", "A row", ["Size"], ["Age"], [h("span", { class: "hidden" }, "Delete")]];

export const datasetLink = (name) => `#/datasets/${encodeURIComponent(name)}`;

export const partWords = (parts) => Object.entries(parts ?? {}).map(([split, roles]) => {
  const first = Object.values(roles)[0];
  return first ? `${split} ${integer(first.rows)}` : split;
}).join(", ");

// The question before a dataset is deleted.
export const deletion = ({ name, jobs }) => ({ title: `Delete ${name}?`, lines: ["This deletes the dataset with all its parts. This cannot be undone.", ...(jobs ? [`${jobsWords(jobs)} on it: ${jobs === 1 ? "it stays" : "they stay"}, and what was learnt keeps working.`] : [])], button: "Delete the dataset" });

export const rowShape = (dataset) => {
  const part = dataset.parts?.train?.x ?? dataset.parts?.train?.table;
  if (!part) return "–";
  return part.shape?.length > 1 ? `${part.shape.join(" × ")}, ${part.dtype}` : `${integer(part.columns)} columns, ${part.dtype}`;
};

export function mount(root, _, signal) {
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const body = h("tbody");
  const empty = startPanel({ signal, chooses: false });
  empty.hidden = true; // until the list says so
  const table = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Datasets", hidden: true }, h("table", { class: "stack datasets-table" },
    h("thead", null, h("tr", null, heads.map((word) => h("th", { scope: "col", class: Array.isArray(word) ? "number" : null }, word)))), body));
  const upload = uploadPanel({ signal, onUploaded(dataset, words) {
    notify(...words);
    navigate(datasetLink(dataset.name));
  } });
  root.append(h("div", { class: "heading" }, h("h1", null, "Data")), failure, upload.node, h("div", { class: "card flush" }, empty, table));

  function fail(error) {
    if (signal.aborted || error.status === 0) return;
    setText(failure, error.message);
    failure.hidden = false;
  }

  async function remove(dataset) {
    const { jobs } = await getJson(`/v1/datasets/${encodeURIComponent(dataset.name)}`, { signal }).catch(() => dataset);
    if (!(await confirmed(deletion({ name: dataset.name, jobs }), signal))) return;
    try {
      failure.hidden = true;
      await sendJson("DELETE", `/v1/datasets/${encodeURIComponent(dataset.name)}`, undefined, { signal });
      announce(`${dataset.name} was deleted.`);
      polled.refresh();
    } catch (error) {
      fail(error instanceof ApiError && error.status === 409 ? new ApiError(409, "", `"${dataset.name}" is in use: ${error.message}`) : error);
    }
  }

  const polled = poll("/v1/datasets?limit=1000", (page) => {
    if (page.has_more) allOf("/v1/datasets", page, { signal }).then(show, fail);
    else show(page.data);
  }, { signal, interval: 5000, onError: fail });

  function show(data) {
    table.hidden = data.length === 0;
    empty.hidden = data.length > 0;
    keyed(body, data, (dataset) => dataset.name, () => h("tr"), (row, dataset) => {
      const version = dataset.sha256 + dataset.visibility;
      if (row.version_ === version) {
        setText(row.age_, age(dataset.created_at));
        return;
      }
      row.version_ = version;
      row.age_ = h("td", { "data-label": "Age", class: "number", title: dateTime(dataset.created_at) }, age(dataset.created_at));
      const weights = dataset.role === "weights";
      replace(row,
        h("td", { class: "wide" }, h("a", { class: "job-link", href: datasetLink(dataset.name) }, dataset.name),
          dataset.visibility === "private" && h("span", { class: "muted", title: "Visible only to its owner and admins" }, " private")),
        h("td", { "data-label": "Format" }, weights ? "weights" : dataset.format),
        h("td", { "data-label": "Rows" }, weights ? `${integer(dataset.tensors)} tensors` : partWords(dataset.parts) || integer(dataset.rows)),
        h("td", { "data-label": "A row" }, weights ? "–" : rowShape(dataset)),
        h("td", { "data-label": "Size", class: "number" }, bytes(dataset.bytes)),
        row.age_,
        h("td", { class: "number" }, h("button", { type: "button", class: "button danger", "aria-label": `Delete ${dataset.name}`, onclick: () => remove(dataset) }, "Delete")));
    });
  }
}
