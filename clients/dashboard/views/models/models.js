// models.js: the published models, each with a page of its own.

import { getJson, poll } from "../../api.js";
import { h, keyed, replace, setText } from "../../dom.js";
import { age, dateTime, jobName } from "../../format.js";
import { leadingWords } from "../../job_order.js";
import { modelLink, thresholdWords } from "./publish.js";

export const title = "Models";

const heads = ["Name", "Serves", "Test", "Answers", "Threshold", ["Published"]];
const mostJobs = 100; // that are asked for, for their names

// "96 numbers", "1 × 28 × 28 numbers", or the names of the columns.
export const inputWords = (inputs) => inputs.map(({ name, shape }) => (shape.length === 1 ? name : `${shape.slice(1).join(" × ")} numbers`)).join(", ");

export const answerWords = (model) => (model.outputs.some(({ name }) => name === "class") ? "a class" : "a number");

const decidedBy = (model) => (model.threshold === null ? "–" : thresholdWords(model));

export function mount(root, _, signal) {
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const body = h("tbody");
  const empty = h("p", { class: "empty", hidden: true }, "No models yet. Publish a succeeded job with its “Publish” button to serve it by name.");
  const table = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Models", hidden: true }, h("table", { class: "stack models-table" },
    h("thead", null, h("tr", null, heads.map((word) => h("th", { scope: "col", class: Array.isArray(word) ? "number" : null }, word)))), body));
  let asked = 0;
  root.append(h("div", { class: "heading" }, h("h1", null, "Models")), failure, h("div", { class: "card flush" }, empty, table));

  poll("/v1/models", ({ data }) => {
    failure.hidden = true;
    table.hidden = data.length === 0;
    empty.hidden = data.length > 0;
    keyed(body, data, ({ name }) => name, () => h("tr"), (row, model) => {
      const text = JSON.stringify(model);
      if (row.text_ !== text) {
        row.text_ = text;
        const link = h("a", { href: `#/jobs/${encodeURIComponent(model.job)}`, title: model.job }, `…${model.job.slice(-8)}`);
        const test = h("td", { "data-label": "Test" }, "–");
        row.age_ = h("td", { class: "number", "data-label": "Published", title: dateTime(model.published_at) });
        replace(row,
          h("td", { class: "wide" }, h("a", { class: "job-link", href: modelLink(model.name) }, model.name), model.visibility === "private" && h("span", { class: "muted" }, " private"), model.owner && h("span", { class: "muted owner" }, ` ${model.owner}`)),
          h("td", { "data-label": "Serves" }, link), test, h("td", { "data-label": "Answers" }, answerWords(model)), h("td", { "data-label": "Threshold" }, decidedBy(model)), row.age_);
        if (asked++ < mostJobs) getJson(`/v1/jobs/${encodeURIComponent(model.job)}`, { signal }).then((job) => {
          setText(link, jobName(job));
          setText(test, leadingWords(job));
        }, () => {}); // another's
      }
      setText(row.age_, age(model.published_at));
    });
  }, { signal, interval: 5000, onError: (error) => {
    if (error.status === 0) return;
    setText(failure, error.message);
    failure.hidden = false;
  } });
}
