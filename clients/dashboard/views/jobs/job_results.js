// job_results.js: the results of a job: metrics of each split, the confusion matrix, predicted against true.

import { h, replace } from "../../dom.js";
import { getJson } from "../../api.js";
import { integer, metricNames, percent } from "../../format.js";
import { createChart } from "../../chart.js";
import { metricText } from "../../trials.js";

const cloudPoints = 3000; // drawn at most
const rowsFetched = 50000; // predictions of more rows are fetched on demand

const splits = [["train", "Training"], ["validation", "Validation"], ["test", "Test"]];

// cell(split, name): the text of a number; by default that of `metrics`.
function metricsTable(metrics, label, cell = (split, name) => metricNames[name].format(metrics[split][name] ?? null)) {
  const present = splits.filter(([name]) => metrics[name]);
  const rows = Object.entries(metricNames).filter(([name]) => present.some(([split]) => metrics[split][name] !== null && metrics[split][name] !== undefined));
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "compact" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Metric"), present.map(([, word]) => h("th", { scope: "col", class: "number" }, word)))),
    h("tbody", null, rows.map(([name, { word, unit }]) => h("tr", null,
      h("th", { scope: "row" }, word, unit && h("span", { class: "unit" }, typeof unit === "function" ? unit(metrics) : unit)),
      present.map(([split]) => h("td", { class: "number", "data-metric": `${split}.${name}` }, cell(split, name))))))));
}

// Means and deviations of a job's folds and repeats.
function partsTable({ parts: { mean, deviation, each }, positive }) {
  const well = each.filter(({ outcome }) => outcome === "ok").length;
  const count = well < each.length ? `${integer(well)} of ${integer(each.length)}` : integer(each.length);
  return [h("h3", null, `Mean and deviation of ${count} trainings`),
    metricsTable({ ...mean, positive }, "Folds and repeats", (split, name) => metricText({ metric: mean[split][name], deviation: deviation[split]?.[name] }, metricNames[name].format))];
}

// Each cell holds its count, shaded by the share of the true class.
function confusionTable(confusion, names = []) {
  const classes = confusion.map((_, i) => names[i] ?? i);
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Counts of each class" }, h("table", { class: "confusion" },
    h("caption", null, "Rows: the true class. Columns: the predicted one."),
    h("thead", null, h("tr", null, h("td", null), classes.map((i) => h("th", { scope: "col", class: "number" }, i)), h("th", { scope: "col", class: "number" }, "right"))),
    h("tbody", null, confusion.map((counts, actual) => {
      const total = counts.reduce((sum, n) => sum + n, 0);
      return h("tr", null, h("th", { scope: "row", class: "number" }, classes[actual]),
        counts.map((n, predicted) => {
          const cell = h("td", { class: "number", title: `true ${classes[actual]}, predicted ${classes[predicted]}` }, integer(n));
          const share = total ? n / total : 0;
          const hue = actual === predicted ? "--good" : "--bad";
          if (share > 0) cell.style.backgroundColor = `color-mix(in srgb, var(${hue}) ${Math.round(6 + 24 * share)}%, transparent)`;
          return cell;
        }),
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
    if (most > least) curves.push({ label: "As it should be", x: [least, most], y: [least, most], index: 7, dash: [5, 4] });
    const chart = createChart(cloud, { title: "Predicted against true, test rows", x: { label: "True" }, y: { label: "Predicted" }, height: 280, signal });
    chart.setData(curves);
    if (step > 1) cloud.append(h("p", { class: "muted small" }, `Every ${step}th of ${integer(predictions.rows)} rows.`));
  }

  return {
    node,
    jobChanged(job) {
      const mark = JSON.stringify([job.metrics, job.weights?.sha256]);
      if (!job.metrics || job.found || mark === shown) return;
      shown = mark;
      node.hidden = false;
      metrics.hidden = false;
      replace(metrics, h("h2", null, "Metrics"), metricsTable(job.metrics, "Metrics of each split"), job.metrics.parts && partsTable(job.metrics));
      const [split, word] = job.metrics.test?.confusion ? ["test", "test"] : job.metrics.validation?.confusion ? ["validation", "validation"] : ["train", "training"];
      const matrix = job.metrics[split]?.confusion;
      confusion.hidden = !matrix;
      if (matrix) replace(confusion, h("h2", null, `Confusion matrix, ${word} rows`), confusionTable(matrix, job.metrics.class_names));
      const test = job.metrics.test;
      const numeric = test && test.mse !== null && test.mse !== undefined && !matrix;
      cloud.hidden = !numeric || !job.weights || job.status === "failed";
      if (cloud.hidden) return;
      if (test.rows <= rowsFetched) drawCloud();
      else replace(cloud, h("h2", null, "Predicted against true"), h("button", { type: "button", class: "button", onclick: drawCloud }, `Load ${integer(test.rows)} rows`));
    },
  };
}
