// job_predict.js: a row to predict, a field a column as the model knows them; of a job of pictures a picture, of a series
// its next rows. Where the columns have no names the row is JSON. A file of rows is predicted at once. A published model
// is asked as its clients ask it.

import { h, replace, setText } from "../../dom.js";
import { getJson, sendJson } from "../../api.js";
import { cellOf, valueWords } from "../../columns.js";
import { jobName, number, percent } from "../../format.js";
import { takeFiles } from "../../drop.js";
import { inferAnswer, inferRequest } from "../../inference.js";
import { worded } from "../../options.js";
import { announce } from "../../shell.js";
import { faultText, fileFields } from "./predict_file.js";
import { pictureFields } from "./job_predict_picture.js";
import { seriesFields } from "./job_predict_series.js";

const mostFields = 60; // a form of more is no form

// One field, with a cell that is typical of the column.
function fieldOf(column, index) {
  const { name, typical: cell } = column;
  const id = `predict-${index}`;
  const words = (column.categories ?? []).map(({ value }) => value);
  const closed = words.length > 0 && words.length === column.distinct;
  const list = !closed && words.length > 0 && h("datalist", { id: `${id}-words` }, words.map((word) => h("option", { value: word })));
  const control = closed
    ? h("select", { id }, h("option", { value: "" }, "– missing –"), words.map((word) => h("option", { value: word }, word)))
    : h("input", { id, type: column.type === "date" && /^\d{4}-\d\d-\d\d$/.test(cell) ? "date" : "text", autocomplete: "off", inputmode: column.type !== "number" ? null : column.integer ? "numeric" : "decimal", list: list ? list.id : null, placeholder: "missing" });
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
  if (!answer.probabilities) return [h("p", null, label, h("strong", null, word))];
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
  const lines = warnings.map(({ pointer, detail }) => [pointer, worded(detail)].filter(Boolean).join(": "));
  return [h("ul", { class: "notice" }, [...lines, ...(more ? [`and ${more} more`] : [])].map((line) => h("li", null, line)))];
}

// model: a published one, as /v2 describes it and with its `threshold`; url: of its job. onRow(row) is called for each
// row that the form has, cells by columns or a list.
export function predictPanel({ url, signal, model = null, onRow = () => {} }) {
  const body = h("div");
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const answer = h("div", { class: "predict-answer", role: "status" });
  const go = h("button", { class: "button primary" }, "Predict");
  const decision = h("span", null);
  const likelier = h("button", { type: "button", class: "button" }, "The more probable class");
  const decided = h("p", { class: "toolbar", hidden: true }, decision, likelier);
  const form = h("form", { id: "predict" }, body, h("div", { class: "toolbar upload-go" }, go), decided, failure, answer);
  let fields = [];
  let json = null; // where the row is JSON
  let other = null; // a picture or a series: its own ask() and, maybe, show()
  let target = "";
  let job = null;
  let known = null; // what a row has, by its weights
  let loaded = false;
  let byItself = false; // what is asked next was not asked by the user, who is told of no fault then
  let threshold = null; // of two classes

  const file = fileFields({ url, signal, ask: () => ({ query: query(), pictures: Boolean(known?.pictures), classes: typeof job?.metrics?.train?.accuracy === "number" }) });
  const title = h("h2", { id: "predict-title" }, model ? "Try it" : "Predict");
  const node = h("section", { class: "card", hidden: true, "aria-labelledby": "predict-title" }, title, form, file.node);

  likelier.addEventListener("click", () => {
    threshold = null;
    decided.hidden = true;
  });

  // The threshold of a model is of a class, which the job may count as the other one.
  function query() {
    if (!decided.hidden) return { threshold };
    if (typeof model?.threshold !== "number") return {};
    return { threshold: model.positive === job?.metrics?.positive ? model.threshold : 1 - model.threshold };
  }

  // The dataset whose last rows a forecast goes on from: one of these columns, though it may have other rows by now.
  async function seriesOf(data, { columns }) {
    const dataset = data.dataset && await getJson(`/v1/datasets/${encodeURIComponent(data.dataset)}`, { signal }).catch(() => null);
    return dataset && columns.length && columns.every(({ name }) => dataset.columns.some((each) => each.name === name)) ? dataset : null;
  }

  async function load() {
    const at = job ? url : `/v1/jobs/model:${encodeURIComponent(model.name)}`;
    known = await getJson(`${at}/inputs`, { signal }).catch(() => null);
    const series = known?.window && job && await seriesOf(job.spec.data, known);
    if (signal.aborted) return;
    if (known?.pictures) other = pictureFields({ url: at, signal, onFile: () => form.requestSubmit(), onRefused: refuse });
    else if (series) other = seriesFields({ url, inputs: known, dataset: series, job, signal });
    node.hidden = false;
    if (other) {
      setText(go, series ? "Forecast" : "Predict");
      if (series && !model) setText(title, "What comes next");
      replace(body, other.node);
      if (known.pictures && job) file.show();
      if (series && form.checkValidity()) { // nothing is asked for
        byItself = true;
        form.requestSubmit();
      }
      return;
    }
    const asked = known?.window ? [] : (known?.columns ?? []).filter(({ used }) => used);
    target = known?.target ?? "";
    fields = asked.map(fieldOf);
    if (known?.columns.length && job) file.show();
    if (asked.length && asked.length <= mostFields) replace(body, h("div", { class: "fields" }, fields.map((field) => field.node)));
    else {
      json = h("textarea", { id: "predict-json", class: "code", rows: "4", spellcheck: "false", placeholder: '[0.5, 1] or {"age": 31, "city": "Oslo"}' });
      replace(body, h("div", { class: "field" }, h("label", { for: "predict-json" }, "A row: its numbers in the order of the columns, or its cells by name"), json));
    }
    if (!json) onRow(row());
  }

  const row = () => (json ? JSON.parse(json.value) : Object.fromEntries(fields.map(({ name, column, control }) => [name, cellOf(column, control.value)])));

  async function ask() {
    if (other) return other.ask();
    const one = row();
    if (model) return inferAnswer(await sendJson("POST", `/v2/models/${encodeURIComponent(model.name)}/infer`, inferRequest(model.inputs, one), { signal }), job?.metrics?.class_names);
    return sendJson("POST", `${url}/predict`, { ...(Array.isArray(one) ? { x: [one] } : { rows: [one] }), ...query() }, { signal });
  }

  // A fault of a cell goes to its field.
  function refuse(error) {
    const rest = (error.errors ?? []).filter(({ pointer, detail }) => {
      const field = !json && fields.find(({ name }) => pointer === `/rows/0/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
      field?.say(detail);
      return !field;
    });
    setText(failure, faultText({ message: error.message, errors: rest }));
    failure.hidden = false;
  }

  form.addEventListener("input", () => !json && !other && onRow(row()));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    failure.hidden = true;
    for (const field of fields) field.say("");
    go.disabled = true;
    const quiet = byItself;
    byItself = false;
    try {
      const found = await ask();
      if (other?.show) return other.show(answer, found);
      replace(answer, answerNodes(found, target), warningNodes(found));
      announce(answer.querySelector("p").textContent);
    } catch (error) {
      if (signal.aborted || quiet) return;
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
    // fresh: null where a model's job is not to be seen.
    jobChanged(fresh) {
      if (loaded || (fresh && (!fresh.weights || fresh.status === "failed"))) return;
      loaded = true;
      job = fresh;
      const ready = load();
      takeFiles(async (files) => {
        await ready;
        file.dropped(files, { by: model?.name ?? jobName(job), inputs: fields.map(({ name }) => name), target });
      }, signal, "Drop it to predict or to upload");
    },
  };
}
