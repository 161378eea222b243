// job_predict.js: a row to predict, a field a column as the dataset describes them; of a job of pictures a picture,
// of a series its next rows. Where the columns have no names, or the dataset is another by now, the row is JSON.

import { h, replace, setText } from "../../dom.js";
import { getJson, sendJson } from "../../api.js";
import { cellOf, featureColumns, columnName, targetIndex, valueWords } from "../../columns.js";
import { number, percent } from "../../format.js";
import { announce } from "../../shell.js";
import { pictureFields } from "./job_predict_picture.js";
import { seriesFields } from "./job_predict_series.js";

const mostFields = 60; // a form of more is no form

// One field; `cell` is what the first row of the dataset has there.
function fieldOf({ column, index }, cell) {
  const name = columnName(column, index);
  const id = `predict-${index}`;
  const words = (column.categories ?? []).map(({ value }) => value);
  const closed = column.type === "category" && words.length === column.distinct;
  const list = !closed && words.length > 0 && h("datalist", { id: `${id}-words` }, words.map((word) => h("option", { value: word })));
  const control = closed
    ? h("select", { id }, h("option", { value: "" }, "– missing –"), words.map((word) => h("option", { value: word }, word)))
    : h("input", { id, type: "text", autocomplete: "off", inputmode: column.type === "number" ? "decimal" : null, list: list ? list.id : null, placeholder: "missing" });
  const error = h("span", { class: "error", id: `${id}-error` });
  control.setAttribute("aria-describedby", `${id}-hint ${error.id}`);
  control.value = cell ?? "";
  const node = h("div", { class: "field" }, h("label", { for: id }, name), control, list, h("span", { class: "hint", id: `${id}-hint` }, closed ? "" : valueWords(column)), error);
  return { name, column, control, node, say(text) {
    setText(error, text);
    if (text) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  } };
}

// The answer for one row: the class and how sure, or the value.
export function answerNodes(answer, target) {
  const [word] = answer.classes ?? [];
  const label = target ? `${target}: ` : "";
  if (word === undefined) return [h("p", null, label, h("strong", null, answer.predictions[0].map((value) => number(value, 6)).join(", ")))];
  const names = answer.class_names ?? answer.probabilities[0].map((_, i) => i);
  const order = answer.probabilities[0].map((share, i) => ({ share, name: names[i] })).sort((a, b) => b.share - a.share).slice(0, 10);
  return [h("p", null, label, h("strong", null, word)),
    h("table", { class: "compact" }, h("thead", { class: "hidden" }, h("tr", null, h("th", { scope: "col" }, "Class"), h("th", { scope: "col" }, "Share"), h("th", { scope: "col" }, "Probability"))),
      h("tbody", null, order.map(({ share, name }) => h("tr", null, h("th", { scope: "row" }, name),
        h("td", null, h("progress", { class: "meter", max: "1", value: share, "aria-label": `Probability of ${name}` })),
        h("td", { class: "number" }, percent(share))))))];
}

// What was read otherwise than may be thought: a line each.
export function warningNodes({ warnings = [], warnings_left_out: more = 0 }) {
  if (!warnings.length) return [];
  const lines = warnings.map(({ pointer, detail }) => `${pointer}: ${detail}`);
  return [h("ul", { class: "notice" }, [...lines, ...(more ? [`and ${more} more`] : [])].map((line) => h("li", null, line)))];
}

export function predictPanel({ url, signal }) {
  const body = h("div");
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const answer = h("div", { class: "predict-answer", role: "status" });
  const go = h("button", { class: "button primary" }, "Predict");
  const decision = h("span", null);
  const likelier = h("button", { type: "button", class: "button" }, "The likelier class");
  const decided = h("p", { class: "toolbar", hidden: true }, decision, likelier);
  const form = h("form", { id: "predict" }, body, h("div", { class: "toolbar upload-go" }, go), decided, failure, answer);
  const node = h("section", { class: "card", hidden: true, "aria-labelledby": "predict-title" }, h("h2", { id: "predict-title" }, "Predict"), form);
  let fields = [];
  let json = null; // where the row is JSON
  let other = null; // a picture or a series: its own ask() and, maybe, show()
  let target = "";
  let loaded = false;
  let threshold = null; // of two classes

  likelier.addEventListener("click", () => {
    threshold = null;
    decided.hidden = true;
  });

  async function describe({ data }) {
    if (!data?.dataset) return null;
    const path = `/v1/datasets/${encodeURIComponent(data.dataset)}`;
    try {
      const dataset = await getJson(path, { signal });
      if (dataset.sha256 !== data.sha256) return null;
      if (!data.shape && dataset.parts?.train?.x?.shape?.length > 1) return { pictures: true };
      if (!dataset.parts?.train?.table) return null;
      if (data.window && dataset.columns.every(({ name }) => name)) return { path, dataset, series: true };
      const { data: [first] } = await getJson(`${path}/rows?limit=1`, { signal });
      return Array.isArray(first) ? null : { dataset, first }; // an array: columns without names of their own
    } catch {
      return null; // it was deleted: the row is JSON
    }
  }

  async function load(job) {
    const known = await describe(job.spec);
    if (signal.aborted) return;
    if (known?.pictures) other = pictureFields({ url, signal, onFile: () => form.requestSubmit(), onRefused: refuse });
    else if (known?.series) other = seriesFields({ url, ...known, data: job.spec.data, signal });
    if (other) {
      setText(go, known.series ? "Forecast" : "Predict");
      replace(body, other.node);
      node.hidden = false;
      return;
    }
    const asked = known ? featureColumns(known.dataset.columns, job.spec.data) : [];
    if (asked.length && asked.length <= mostFields) {
      const { columns } = known.dataset;
      target = columns[targetIndex(columns, job.spec.data)]?.name ?? "";
      fields = asked.map((each) => fieldOf(each, known.first[columnName(each.column, each.index)]));
      replace(body, h("div", { class: "fields" }, fields.map((field) => field.node)));
    } else {
      json = h("textarea", { id: "predict-json", class: "code", rows: "4", spellcheck: "false", placeholder: '[0.5, 1] or {"age": 31, "city": "Oslo"}' });
      replace(body, h("div", { class: "field" }, h("label", { for: "predict-json" }, "A row: its numbers in the order of the columns, or its cells by name"), json));
    }
    node.hidden = false;
  }

  function request() {
    return { ...rowRequest(), ...(decided.hidden ? {} : { threshold }) };
  }

  function rowRequest() {
    if (!json) return { rows: [Object.fromEntries(fields.map(({ name, column, control }) => [name, cellOf(column, control.value)]))] };
    const row = JSON.parse(json.value);
    return Array.isArray(row) ? { x: [row] } : { rows: [row] };
  }

  // A fault of a cell goes to its field.
  function refuse(error) {
    const rest = (error.errors ?? []).filter(({ pointer, detail }) => {
      const field = fields.find(({ name }) => pointer === `/rows/0/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
      field?.say(detail);
      return !field;
    });
    setText(failure, rest.length ? rest.map(({ pointer, detail }) => [pointer, detail].filter(Boolean).join(": ")).join("; ") : error.message);
    failure.hidden = false;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    failure.hidden = true;
    for (const field of fields) field.say("");
    go.disabled = true;
    try {
      const found = other ? await other.ask() : await sendJson("POST", `${url}/predict`, request(), { signal });
      if (other?.show) return other.show(answer, found);
      replace(answer, answerNodes(found, target), warningNodes(found));
      announce(answer.querySelector("p").textContent);
    } catch (error) {
      if (signal.aborted) return;
      replace(answer);
      refuse(error instanceof SyntaxError ? new Error(`Not JSON yet: ${error.message}`) : error);
    } finally {
      go.disabled = false;
    }
  });

  return {
    node,
    // A row is of that class from this probability on.
    decideBy(probability, word) {
      if (other) return; // pictures and series are asked by themselves
      threshold = probability;
      setText(decision, `Class ${word} from a probability of ${number(probability, 6)} on.`);
      decided.hidden = false;
      go.focus();
    },
    jobChanged(job) {
      if (loaded || !job.weights) return;
      loaded = true;
      load(job);
    },
  };
}
