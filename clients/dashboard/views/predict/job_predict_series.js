// job_predict_series.js: a forecast from the last rows of the series that was trained on. What else the model needs of the
// rows to come is asked for in a table.

import { h, replace } from "../../dom.js";
import { download, getJson, send, sendJson } from "../../api.js";
import { createChart } from "../../chart.js";
import { cellOf, inTime, timeAfter } from "../../columns.js";
import { integer, metricNames, number, value } from "../../format.js";
import { spreadsheetSwitch } from "../../spreadsheet.js";
import { limits } from "../../vocabulary.js";
import { aheadWords, baselineWords } from "../jobs/job_auto.js";

const pageRows = 1000; // the daemon's limit
const mostPages = 50; // that are looked through for rows of a group
const mostSteps = limits.predictSteps;
const mostDrawn = 100; // rows of a table
const firstSteps = 24;
const mostCurves = 8; // of one chart
const rowsSeen = 7; // of a table before it scrolls

// The last `count` rows of the training set of each of the series, the oldest first. seriesOf(row): which one it is of.
async function lastRows(path, count, series, seriesOf, signal) {
  const { total } = await getJson(`${path}/rows?limit=1`, { signal });
  const found = new Map(series.map((one) => [one, 0]));
  const rows = [];
  for (let end = total, pages = 0; end > 0 && [...found.values()].some((few) => few < count) && pages < mostPages; pages++) {
    const offset = Math.max(0, end - pageRows);
    const before = [];
    // of wide rows fewer come at once
    for (let at = offset; at < end; ) {
      const { data } = await getJson(`${path}/rows?limit=${end - at}&offset=${at}`, { signal });
      if (!data.length) break;
      before.push(...data);
      at += data.length;
    }
    for (const row of before.reverse()) {
      const one = seriesOf(row), has = found.get(one);
      if (has === undefined || has >= count) continue;
      found.set(one, has + 1);
      rows.push(row);
    }
    end = offset;
  }
  return rows.reverse();
}

const tableOf = (label, heads, lines) => h("div", { class: "table rows-ahead", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "compact" },
  h("thead", null, h("tr", null, heads.map((word) => h("th", { scope: "col" }, word)))), h("tbody", null, lines)));

// inputs: what the weights say of a row; dataset: the description of what has the rows now; job: with a window.
export function seriesFields({ url, inputs: { target, columns }, dataset, job, signal }) {
  const { data } = job.spec;
  const { length, horizon, group } = data.window;
  const path = `/v1/datasets/${encodeURIComponent(dataset.name)}`;
  const words = group ? (dataset.columns.find(({ name }) => name === group)?.categories ?? []).map(({ value: word }) => word) : [];
  const others = columns.filter(({ name, used }) => used && name !== target);
  const most = others.length ? horizon + mostDrawn : mostSteps; // a table of more is no table
  const steps = h("input", { id: "predict-steps", type: "number", min: "1", max: String(most), value: String(others.length ? horizon : firstSteps), required: true });
  const series = h("select", { id: "predict-series" }, words.map((word) => h("option", { value: word }, word)), words.length > 1 && h("option", { value: "", "data-all": "" }, `all ${integer(words.length)}`));
  const isAll = () => series.selectedOptions[0]?.hasAttribute("data-all") ?? false;
  const spreadsheet = spreadsheetSwitch();
  let asked = null; // the last request
  const future = h("div", { class: "wide" });
  const field = (label, control) => h("div", { class: "field" }, h("label", { for: control.id }, label), control);
  const node = h("div", { class: "fields" },
    field("Rows to forecast", steps), words.length > 0 && field(`Of which ${group}`, series),
    h("p", { class: "hint wide" }, `The forecast continues from the last ${integer(length)} rows of ${dataset.name}${group ? " that are of the series" : ""}${dataset.sha256 === data.sha256 ? "" : ", which was replaced after the training"}.`), future);
  let rows = []; // the last ones
  let ahead = []; // of each row to come that is drawn: a control a column

  const read = async () => {
    rows = await lastRows(path, length + horizon - 1, !group ? [null] : isAll() ? words : [series.value], (row) => (group ? row[group] : null), signal);
  };
  const needed = () => (others.length && !isAll() ? Math.min(most, Number(steps.value)) - horizon : 0);

  function controlOf(column, i) {
    const { name } = column, closed = column.categories?.length > 0 && column.categories.length === column.distinct;
    const control = closed ? h("select", { required: true }, h("option", { value: "" }, "– choose –"), column.categories.map(({ value: word }) => h("option", { value: word }, word)))
      : h("input", { type: "text", required: true, autocomplete: "off", size: "10", inputmode: column.type === "number" ? "decimal" : null });
    control.setAttribute("aria-label", `${name}, row ${i + 1}`);
    control.value = (name === data.time && timeAfter(rows.map((row) => row[name]), i + 1)) || "";
    return control;
  }

  // What was typed stays when there are more rows or fewer.
  function drawFuture() {
    const count = needed();
    future.hidden = count <= 0;
    while (ahead.length < count) ahead.push(others.map((other) => controlOf(other, ahead.length)));
    if (count <= 0) return;
    const names = others.map(({ name }) => name);
    const down = h("button", { type: "button", class: "button", onclick: () => ahead.slice(1, count).forEach((controls) => controls.forEach((control, k) => (control.value = names[k] === data.time ? control.value : ahead[0][k].value))) }, "Copy the first row down");
    replace(future, h("h3", null, `What is known of the ${integer(count)} rows to come, besides ${target}`),
      tableOf("Rows to come", ["Row", ...names],
        ahead.slice(0, count).map((controls, i) => h("tr", null, h("th", { scope: "row" }, rowWord(i)), controls.map((control) => h("td", null, control))))),
      h("div", { class: "toolbar" }, h("p", { class: "hint grow" }, `The model learnt from ${names.join(", ")} as well, and forecasts more than ${integer(horizon)} ${horizon === 1 ? "row" : "rows"} only where ${names.length === 1 ? "it is" : "they are"} known ahead.`), count > 1 && down));
  }

  const timeOf = (i) => (data.time ? timeAfter(rows.map((row) => row[data.time]), i + 1) : null);
  const timeText = (time) => time?.toString().replace(/T(\d\d:\d\d)(:00)?$/, " $1");
  const rowWord = (i) => timeText(timeOf(i)) ?? `+${integer(i + 1)}`;

  const cellsAhead = (i) => Object.fromEntries(others.map((column, k) => [column.name, cellOf(column, ahead[i][k].value)]));

  // How far off it is where that is known, of what, and without a network; later rows go on with what was forecast.
  function errorWords() {
    const mae = job.metrics?.test?.mae, baseline = baselineWords(job, "mae");
    return typeof mae === "number" ? `Test rows: off by ${metricNames.mae.format(mae)} on average${aheadWords(job)}${baseline ? ` (${baseline})` : ""}. Rows further ahead are less certain.` : "";
  }

  // The same forecast, as the daemon writes it.
  async function saveCsv(button, answer) {
    button.disabled = true;
    try {
      const response = await send(`${url}/predict?format=csv${spreadsheet.query()}`, { method: "POST", body: JSON.stringify(asked), signal, headers: { "Content-Type": "application/json" } });
      await download(await response.blob(), `${target}-forecast.csv`);
    } catch (error) {
      if (!signal.aborted) answer.append(h("p", { class: "notice error", role: "alert" }, error.message));
    } finally {
      button.disabled = false;
    }
  }

  async function begin() {
    ahead = [];
    await read().then(drawFuture).catch(() => {}); // the button says what is wrong
  }

  if (others.length) {
    steps.addEventListener("input", drawFuture);
    series.addEventListener("change", begin);
    begin();
  }

  return {
    node,
    async ask() {
      if (!ahead.length) await read();
      if (isAll() && others.length && Number(steps.value) > horizon) throw new Error(`All at once can be forecast ${integer(horizon)} ${horizon === 1 ? "row" : "rows"} ahead: more requires ${others.map(({ name }) => name).join(", ")} of the rows to come. Choose one ${group}, or predict with a file.`);
      if (data.time && !(isAll() ? words : [series.value]).every((word) => inTime(rows.filter((row) => !isAll() || row[group] === word).map((row) => row[data.time])))) throw new Error(`The rows of ${dataset.name} are not in the order of ${data.time}: predict with a file of the latest rows instead, the oldest first.`);
      const body = { rows, steps: Number(steps.value) };
      if (needed() > 0) {
        if (!ahead.length) drawFuture();
        body.future = Array.from({ length: needed() }, (_, i) => cellsAhead(i));
      }
      asked = body;
      return sendJson("POST", `${url}/predict`, body, { signal });
    },
    // What was and what will be, in one picture; the latter as a table too.
    show(answer, found) {
      replace(answer);
      const chart = createChart(answer, { title: `Forecast of ${target}`, x: { label: "Rows after the last one", format: integer, whole: true }, y: { label: target }, height: 260, signal });
      const values = found.predictions.map(([first]) => value(first));
      const names = found.names ?? values.map(() => series.value);
      const each = [...new Set(names)].map((name) => ({ name, y: values.filter((_, i) => names[i] === name) }));
      const several = each.length > 1;
      const past = several ? [] : rows.map((row) => (typeof row[target] === "number" ? row[target] : Number.NaN));
      chart.setData([
        ...(several ? [] : [{ label: "As it was", x: past.map((_, i) => i - past.length + 1), y: past }]),
        ...each.slice(0, mostCurves).map(({ name, y }) => ({ label: several ? name : "Forecast", x: y.map((_, i) => i + 1), y, dash: several ? undefined : [6, 3] })),
      ]);
      if (each.length > mostCurves) answer.append(h("p", { class: "hint" }, `The chart has the first ${mostCurves} of ${integer(each.length)}.`));
      if (errorWords()) answer.append(h("p", { class: "hint" }, errorWords()));
      const stepsEach = values.length / each.length;
      const timeWord = (i) => timeText(found.times?.[i]) ?? `+${integer((i % stepsEach) + 1)}`;
      const drawn = values.slice(0, mostDrawn);
      const csv = h("button", { type: "button", class: "button", onclick: () => saveCsv(csv, answer) }, "Download CSV");
      answer.append(
        tableOf("Forecast", [several && group, data.time ?? "Row", target].filter(Boolean), drawn.map((one, i) => h("tr", null, several && h("td", null, names[i]), h("th", { scope: "row" }, timeWord(i)), h("td", null, number(one, 6))))),
        h("p", { class: "hint" }, drawn.length < values.length ? `The first ${integer(drawn.length)} of ${integer(values.length)} rows: scroll for more; the CSV has all.` : drawn.length > rowsSeen ? `${integer(drawn.length)} rows: scroll for more.` : ""),
        h("div", { class: "toolbar" }, spreadsheet.node, csv));
    },
  };
}
