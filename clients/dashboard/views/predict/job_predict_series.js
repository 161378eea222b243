// job_predict_series.js: a forecast from the last rows of the series that was trained on.

import { h, replace } from "../../dom.js";
import { getJson, sendJson } from "../../api.js";
import { createChart } from "../../chart.js";
import { columnName, featureColumns, inTime, targetIndex } from "../../columns.js";
import { integer, value } from "../../format.js";

const pageRows = 1000; // the daemon's limit
const mostPages = 50; // that are looked through for rows of one group
const mostSteps = 10000; // the daemon's limit

// The last `count` rows of the training set of which `isOurs` holds, the oldest first.
async function lastRows(path, count, isOurs, signal) {
  const { total } = await getJson(`${path}/rows?limit=1`, { signal });
  let rows = [];
  for (let end = total, pages = 0; end > 0 && rows.length < count && pages < mostPages; pages++) {
    const offset = Math.max(0, end - pageRows);
    const before = [];
    // of wide rows fewer come at once
    for (let at = offset; at < end; ) {
      const { data } = await getJson(`${path}/rows?limit=${end - at}&offset=${at}`, { signal });
      if (!data.length) break;
      before.push(...data);
      at += data.length;
    }
    rows = [...before.filter(isOurs), ...rows];
    end = offset;
  }
  return rows.slice(-count);
}

// dataset: its description; data: of the job's spec, with a window.
export function seriesFields({ url, path, dataset, data, signal }) {
  const { length, group } = data.window;
  const at = targetIndex(dataset.columns, data), target = columnName(dataset.columns[at], at);
  const words = group ? (dataset.columns.find(({ name }) => name === group)?.categories ?? []).map(({ value: word }) => word) : [];
  const others = featureColumns(dataset.columns, data).map(({ column, index }) => columnName(column, index)).filter((name) => (name !== data.time || data.features?.length) && name !== group);
  const steps = h("input", { id: "predict-steps", type: "number", min: "1", max: String(mostSteps), value: "24", required: true });
  const series = h("select", { id: "predict-series" }, words.map((word) => h("option", { value: word }, word)));
  const future = h("textarea", { id: "predict-future", class: "code", rows: "3", spellcheck: "false", "aria-describedby": "predict-future-hint",
    placeholder: `[{${others.slice(0, 2).map((name) => `${JSON.stringify(name)}: …`).join(", ")}}, …]` });
  const field = (label, control, hint, wide) => h("div", { class: wide ? "field wide" : "field" }, h("label", { for: control.id }, label), control, hint && h("span", { class: "hint", id: `${control.id}-hint` }, hint));
  const node = h("div", { class: "fields" },
    field("Rows to forecast", steps), words.length > 0 && field(`Of which ${group}`, series),
    others.length > 0 && field("What is known of these rows", future, `${others.join(", ")}: an object a row, as JSON; ${target} is forecast. For steps within the horizon none are needed.`, true),
    h("p", { class: "hint wide" }, `The forecast goes on from the last ${integer(length)} rows of ${dataset.name}${group ? " that are of the series" : ""}.`));
  let rows = [];

  return {
    node,
    async ask() {
      rows = await lastRows(path, length, (row) => !group || row[group] === series.value, signal);
      if (data.time && !inTime(rows.map((row) => row[data.time]))) throw new Error(`The rows of ${dataset.name} are not in the order of ${data.time}: send the latest ones to ${url}/predict yourself, the oldest first.`);
      const body = { rows, steps: Number(steps.value) };
      if (future.value.trim()) body.future = JSON.parse(future.value);
      return sendJson("POST", `${url}/predict`, body, { signal });
    },
    // What was and what will be, in one picture.
    show(answer, found) {
      replace(answer);
      const chart = createChart(answer, { title: `Forecast of ${target}`, x: { label: "Rows after the last one", format: integer, whole: true }, y: { label: target }, height: 260, signal });
      const past = rows.map((row) => (typeof row[target] === "number" ? row[target] : Number.NaN));
      const ahead = found.predictions.map(([first]) => value(first));
      chart.setData([
        { label: "As it was", x: past.map((_, i) => i - past.length + 1), y: past },
        { label: "Forecast", x: ahead.map((_, i) => i + 1), y: ahead, dash: [6, 3] },
      ]);
    },
  };
}
