// job_results.js: the results of a job: metrics of each split, the confusion matrix, predicted against true.

import { h, replace } from "../../dom.js";
import { getJson } from "../../api.js";
import { integer, metricNames, metricWords, percent } from "../../format.js";
import { createChart } from "../../chart.js";
import { metricText } from "../../trials.js";
import { aheadWords, baselineWords } from "./job_auto.js";

const cloudPoints = 3000; // drawn at most
const rowsFetched = 50000; // predictions of more rows are fetched on demand
const classesBeside = 6; // of a matrix that is no wider than the metrics
const classesShown = 12; // of a confusion matrix, until all are asked for

const splits = [["train", "Training"], ["validation", "Validation"], ["test", "Test"]];

// cell(split, name): the text of a number; by default that of `metrics`. beside(name): what more is said of a metric.
function metricsTable(metrics, label, beside = () => null, cell = (split, name) => metricNames[name].format(metrics[split][name] ?? null)) {
  const present = splits.filter(([name]) => metrics[name]);
  const rows = Object.entries(metricNames).filter(([name]) => present.some(([split]) => metrics[split][name] !== null && metrics[split][name] !== undefined));
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "compact" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Metric"), present.map(([, word]) => h("th", { scope: "col", class: "number" }, word)))),
    h("tbody", null, rows.map(([name, metric]) => {
      const [word, unit] = metricWords(metric, metrics);
      const said = [unit, beside(name)].filter(Boolean).join("; ");
      return h("tr", null, h("th", { scope: "row" }, word, said && h("span", { class: "unit" }, said)), present.map(([split]) => h("td", { class: "number", "data-metric": `${split}.${name}` }, cell(split, name))));
    }))));
}

// Means and deviations of a job's folds and repeats.
function partsTable({ parts: { mean, deviation, each }, positive }) {
  const well = each.filter(({ outcome }) => outcome === "ok").length;
  const count = well < each.length ? `${integer(well)} of ${integer(each.length)}` : integer(each.length);
  return [h("h3", null, `Mean and deviation of ${count} trainings`),
    metricsTable({ ...mean, positive }, "Folds and repeats", undefined, (split, name) => metricText({ metric: mean[split][name], deviation: deviation[split]?.[name] }, metricNames[name].format))];
}

// The classes that are most often taken for another, or another for them, in their order; all where there are few.
export function classesWorth(confusion, most = classesShown) {
  const wrong = confusion.map((counts, i) => counts.reduce((sum, n, k) => sum + (k === i ? 0 : n + confusion[k][i]), 0));
  const order = [...wrong.keys()].sort((a, b) => wrong[b] - wrong[a] || a - b);
  return order.slice(0, most).sort((a, b) => a - b);
}

// Each cell holds its count, shaded by the share of the true class. chosen: the classes that have a row and a column.
function confusionTable(confusion, names, chosen) {
  const classes = confusion.map((_, i) => String(names[i] ?? i));
  const word = (i, attributes) => h("th", { ...attributes, title: classes[i] }, h("span", { class: "class-name" }, classes[i]));
  const rest = chosen.length < confusion.length;
  const sum = (list) => list.reduce((all, n) => all + n, 0);
  return h("div", { class: "table confusion-scroll", tabindex: "0", role: "region", "aria-label": "Counts of each class" }, h("table", { class: "confusion" },
    h("caption", null, "Rows: the true class. Columns: the predicted one."),
    h("thead", null, h("tr", null, h("td", null), chosen.map((i) => word(i, { scope: "col", class: "number" })), rest && h("th", { scope: "col", class: "number" }, "others"), h("th", { scope: "col", class: "number" }, "right"))),
    h("tbody", null, chosen.map((actual) => {
      const counts = confusion[actual], total = sum(counts);
      return h("tr", null, word(actual, { scope: "row" }),
        chosen.map((predicted) => {
          const n = counts[predicted];
          const cell = h("td", { class: "number", title: `true ${classes[actual]}, predicted ${classes[predicted]}` }, n || actual === predicted ? integer(n) : h("span", { class: "muted" }, "·"));
          const share = total ? n / total : 0;
          const hue = actual === predicted ? "--good" : "--bad";
          if (share > 0) cell.style.backgroundColor = `color-mix(in srgb, var(${hue}) ${Math.round(6 + 24 * share)}%, transparent)`;
          return cell;
        }),
        rest && h("td", { class: "number" }, integer(total - sum(chosen.map((i) => counts[i])))),
        h("td", { class: "number" }, total ? percent(counts[actual] / total) : "–"));
    }))));
}

export function resultPanels({ url, signal }) {
  const metrics = h("section", { class: "card", hidden: true, "aria-label": "Metrics" });
  const confusion = h("section", { class: "card", hidden: true, "aria-label": "Confusion matrix" });
  const cloud = h("section", { class: "card", hidden: true, "aria-label": "Predicted against true" });
  const node = h("div", { class: "grid", hidden: true }, metrics, confusion, cloud);
  let shown = "";

  async function drawCloud() {
    replace(cloud, h("h2", null, "Predicted against true"));
    let predictions;
    try {
      predictions = await getJson(`${url}/predictions`, { signal });
    } catch (error) {
      if (!signal.aborted) cloud.append(h("p", { class: "muted" }, error.message));
      return;
    }
    // one target or several: a row of several is an array
    const columns = Array.isArray(predictions.target[0]) ? predictions.target[0].length : 1;
    const step = Math.max(1, Math.ceil((predictions.target.length * columns) / cloudPoints));
    const curves = [];
    let least = Infinity, most = -Infinity;
    for (let c = 0; c < Math.min(columns, 8); c++) {
      const x = [], y = [];
      for (let i = 0; i < predictions.target.length; i += step) {
        const actual = columns > 1 ? predictions.target[i][c] : [predictions.target[i]].flat()[0];
        const predicted = columns > 1 ? predictions.prediction[i][c] : [predictions.prediction[i]].flat()[0];
        if (!Number.isFinite(actual) || !Number.isFinite(predicted)) continue;
        x.push(actual);
        y.push(predicted);
        least = Math.min(least, actual);
        most = Math.max(most, actual);
      }
      curves.push({ label: columns > 1 ? `Target ${c + 1}` : "Test rows", x, y, points: true, index: c });
    }
    if (most > least) curves.push({ label: "Perfect prediction", x: [least, most], y: [least, most], index: 7, dash: [5, 4] });
    const chart = createChart(cloud, { title: "Predicted against true, test rows", x: { label: "True" }, y: { label: "Predicted" }, height: 280, signal });
    chart.setData(curves);
    if (step > 1) cloud.append(h("p", { class: "muted small" }, `Every ${step}th of ${integer(predictions.rows)} rows.`));
  }

  function drawConfusion(matrix, names, word, all = false) {
    node.classList.toggle("results-wide", matrix.length > classesBeside);
    const chosen = classesWorth(matrix, all ? matrix.length : classesShown);
    const more = matrix.length > classesShown && h("button", { type: "button", class: "button quiet", onclick: () => drawConfusion(matrix, names, word, !all).focus() }, all ? `The ${classesShown} most confused` : `All ${integer(matrix.length)} classes`);
    replace(confusion, h("div", { class: "toolbar" }, h("h2", { class: "grow" }, `Confusion matrix, ${word} rows`), more), confusionTable(matrix, names, chosen),
      more && !all && h("p", { class: "muted small" }, `The ${classesShown} classes that are most often confused.`));
    return more;
  }

  return {
    node,
    jobChanged(job) {
      const mark = JSON.stringify([job.metrics, job.weights?.sha256]);
      if (!job.metrics || job.found || mark === shown) return;
      shown = mark;
      node.hidden = false;
      metrics.hidden = false;
      replace(metrics, h("h2", null, `Metrics${aheadWords(job)}`), metricsTable(job.metrics, "Metrics of each split", (name) => baselineWords(job, name)), job.metrics.parts && partsTable(job.metrics));
      const [split, word] = job.metrics.test?.confusion ? ["test", "test"] : job.metrics.validation?.confusion ? ["validation", "validation"] : ["train", "training"];
      const matrix = job.metrics[split]?.confusion;
      confusion.hidden = !matrix;
      if (matrix) drawConfusion(matrix, job.metrics.class_names ?? [], word);
      const test = job.metrics.test;
      const numeric = test && test.mse !== null && test.mse !== undefined && !matrix;
      cloud.hidden = !numeric || !job.weights || job.status === "failed";
      if (cloud.hidden) return;
      if (test.rows <= rowsFetched) drawCloud();
      else replace(cloud, h("h2", null, "Predicted against true"), h("button", { type: "button", class: "button", onclick: drawCloud }, `Load ${integer(test.rows)} rows`));
    },
  };
}
