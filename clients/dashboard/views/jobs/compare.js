// compare.js: jobs side by side: their curves in one chart, their metrics, and the settings that differ, beside those of
// one of them that is the baseline. The URL holds the jobs, the baseline and the options of the chart.

import { createChart } from "../../chart.js";
import { download, poll, send } from "../../api.js";
import { h, replace, setText } from "../../dom.js";
import { integer, isEnded, jobName, metricNames, metricWords, number, seconds, stateWord, tagWord, value } from "../../format.js";
import { announce } from "../../shell.js";
import { spreadsheetSwitch } from "../../spreadsheet.js";
import { limits } from "../../vocabulary.js";
import { baselineOf, baselineWords } from "./job_auto.js";

export const title = "Compare";

const mostJobs = limits.comparedJobs;
const mostDifferences = 60; // shown; the CSV has all of them
const axes = { epoch: "Epoch", elapsed_seconds: "Seconds of training" };
const curveNames = { loss: "Loss", validation_loss: "Validation loss", error: "Error rate", validation_error: "Validation error rate" };

export function mount(root, { query }, signal) {
  const picked = new Set((query.get("jobs") ?? "").split(",").filter(Boolean).slice(0, mostJobs));
  const shown = {
    x: Object.hasOwn(axes, query.get("x")) ? query.get("x") : "epoch",
    y: Object.hasOwn(curveNames, query.get("y")) ? query.get("y") : "loss",
    base: query.get("base") ?? "", // an id
  };
  let comparison = null;
  let polled = null;
  let chart = null;

  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const picker = createPicker(picked, changed, signal);
  const chartRoot = h("div");
  const results = h("div");
  const differences = h("div");
  const csv = h("button", { class: "button", type: "button", onclick: saveCsv }, "Download CSV");
  const spreadsheet = spreadsheetSwitch();
  const xSelect = select("Over", axes, shown.x, (word) => redraw({ x: word }));
  const ySelect = select("Curve", curveNames, shown.y, (word) => redraw({ y: word }));
  const logY = check("Log scale", query.get("log") !== "off", (on) => {
    chart?.setLog("y", on);
    note();
  });
  const baseSelect = h("select", { id: "baseline", onchange: () => {
    shown.base = baseSelect.value;
    note();
    drawTables();
  } });
  const warnings = h("p", { class: "notice warning", hidden: true });
  const content = h("div", { hidden: true }, warnings,
    h("section", { class: "card" }, h("h2", null, "Curves"),
      h("div", { class: "toolbar" }, xSelect, ySelect, logY), chartRoot),
    h("section", { class: "card" }, h("div", { class: "toolbar" }, h("h2", { class: "grow" }, "Results"), h("label", { class: "check" }, "Differences to", baseSelect)), results),
    h("section", { class: "card" }, h("h2", null, "Differences in the settings"), differences));
  content.style.marginTop = "16px";
  root.append(
    h("div", { class: "heading" }, h("h1", null, "Compare"), h("div", { class: "toolbar" }, spreadsheet.node, csv)),
    picker.node, failure, content);

  const path = () => `/v1/compare?jobs=${[...picked].map(encodeURIComponent).join(",")}&max_points=1000`;

  function note() {
    const words = new URLSearchParams();
    if (shown.x !== "epoch") words.set("x", shown.x);
    if (shown.y !== "loss") words.set("y", shown.y);
    if (!logY.querySelector("input").checked) words.set("log", "off");
    if (shown.base) words.set("base", shown.base);
    const jobs = picked.size ? `jobs=${[...picked].map(encodeURIComponent).join(",")}` : "";
    const rest = [jobs, words.toString()].filter(Boolean).join("&");
    history.replaceState(null, "", `#/compare${rest ? `?${rest}` : ""}`);
  }

  function changed() {
    note();
    csv.disabled = picked.size === 0;
    if (picked.size === 0) {
      content.hidden = true;
      return;
    }
    if (polled) polled.move(path());
    else start();
  }

  function start() {
    polled = poll(path(), (fresh) => {
      if (picked.size === 0) return;
      failure.hidden = true;
      comparison = fresh;
      content.hidden = false;
      draw();
    }, {
      signal,
      interval: (data) => (data?.jobs.some((job) => !isEnded(job)) ? 2000 : null),
      onError: (error) => {
        setText(failure, error.message);
        failure.hidden = error.status === 0;
      },
    });
  }

  function redraw(change) {
    Object.assign(shown, change);
    note();
    chart?.destroy();
    chart = null;
    if (comparison) drawCurves();
  }

  function draw() {
    drawCurves();
    const { jobs } = comparison;
    setText(warnings, comparison.warnings.join("\n"));
    warnings.hidden = !warnings.textContent;
    if (baseSelect.options.length !== jobs.length + 1 || jobs.some(({ id }, i) => baseSelect.options[i + 1].value !== id)) replace(baseSelect, h("option", { value: "" }, "no job"), jobs.map((job) => h("option", { value: job.id }, twins(jobs, job) ? `${jobName(job)} (…${job.id.slice(-6)})` : jobName(job))));
    baseSelect.value = jobs.some(({ id }) => id === shown.base) ? shown.base : "";
    drawTables();
  }

  function drawTables() {
    const base = comparison.jobs.findIndex(({ id }) => id === baseSelect.value);
    replace(results, resultsTable(comparison, base));
    replace(differences, differencesTable(comparison, base));
  }

  function drawCurves() {
    chart ??= createChart(chartRoot, {
      title: `${curveNames[shown.y]} of ${comparison.jobs.length} jobs over ${axes[shown.x].toLowerCase()}`,
      x: { label: axes[shown.x], format: shown.x === "epoch" ? integer : number },
      y: { label: curveNames[shown.y], log: logY.querySelector("input").checked },
      height: 360,
    });
    chart.setData(comparison.curves.map((curve, i) => ({
      label: jobName(comparison.jobs[i]),
      x: curve[shown.x],
      y: (curve[shown.y] ?? []).map(value),
      index: i,
    })).map((curve) => (curve.y.length ? curve : { ...curve, x: [] })));
  }

  async function saveCsv() {
    try {
      await download(`${path().replace(/&max_points=\d+/, "")}&format=csv${spreadsheet.query()}`, "comparison.csv", { signal });
      announce("The comparison was saved.");
    } catch (error) {
      if (signal.aborted) return;
      setText(failure, error.message);
      failure.hidden = false;
    }
  }

  signal.addEventListener("abort", () => chart?.destroy());
  csv.disabled = picked.size === 0;
  if (picked.size) start();
}

function select(word, options, chosen, onChange) {
  return h("label", { class: "check" }, word,
    h("select", { onchange: (event) => onChange(event.target.value) },
      Object.entries(options).map(([key, text]) => h("option", { value: key, selected: key === chosen }, text))));
}

function check(word, on, onChange) {
  return h("label", { class: "check" }, h("input", { type: "checkbox", checked: on, onchange: (event) => onChange(event.target.checked) }), word);
}

const jobLink = (job) => h("a", { class: "job-link", href: `#/jobs/${encodeURIComponent(job.id)}` }, jobName(job));

const twins = (jobs, job) => jobs.some((other) => other !== job && jobName(other) === jobName(job));
const lessIsBetter = ["loss", "error", "mse", "rmse", "mae"];

// A number, and by how much it differs from that of the baseline. sense: 1 where more is better, -1 less, 0 neither. of: what
// more is said of a job's.
function figure(read, format, sense = 0, of = () => null) {
  return (job, base) => {
    const mine = value(read(job) ?? null), other = base && base !== job ? value(read(base) ?? null) : null;
    const by = mine === null || other === null ? NaN : mine - other;
    const kind = Math.sign(by) * sense > 0 ? "better" : Math.sign(by) * sense < 0 ? "worse" : "muted";
    return [format(mine), mine !== null && of(job) && h("div", { class: "small muted" }, of(job)),
      Number.isFinite(by) && h("div", { class: `small ${kind}` }, by === 0 ? "the same" : `${by > 0 ? "+" : "−"}${format(Math.abs(by))}`)];
  };
}

// A metric of the test: what it is of stands in the head where the jobs agree, else in each cell.
function testFigure(jobs, name) {
  const metric = metricNames[name], read = (job) => job.metrics?.test?.[name];
  const of = (job) => (typeof metric.unit === "function" ? metric.unit(job.metrics) : "");
  const words = [...new Set(jobs.filter((job) => (read(job) ?? null) !== null).map(of))];
  return [`Test ${words.length === 1 ? metricWords(metric, jobs.find((job) => of(job) === words[0]).metrics)[0] : metric.word}`,
    figure(read, metric.format, name === "rows" ? 0 : lessIsBetter.includes(name) ? -1 : 1, (job) => words.length > 1 && of(job))];
}

// One row a job: metrics, times, device. base: the index of the baseline; -1: none.
function resultsTable({ jobs }, base) {
  const names = Object.keys(metricNames).filter((name) => jobs.some((job) => (job.metrics?.test?.[name] ?? null) !== null));
  const figures = [
    ...names.map((name) => testFigure(jobs, name)),
    ["To beat", (job) => baselineWords(job, baselineOf(job)?.metric) ?? "–"],
    ["Parameters", figure((job) => job.model?.parameters, integer)],
    ["Training", figure((job) => job.timing.train_seconds, seconds)],
    ["An epoch", figure((job) => (job.timing.epoch_microseconds === null ? null : job.timing.epoch_microseconds / 1e6), seconds)],
    ["Test", figure((job) => job.timing.test_seconds, seconds)],
  ];
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Results" }, h("table", { class: "stack results-table" },
    h("thead", null, h("tr", null, ["Job", "State"].map((word) => h("th", { scope: "col" }, word)), figures.map(([word]) => h("th", { scope: "col", class: "number" }, word)), h("th", { scope: "col" }, "Device"))),
    h("tbody", null, jobs.map((job, i) => h("tr", null,
      h("th", { scope: "row" }, jobLink(job), i === base && h("span", { class: "tag" }, "baseline")),
      h("td", { "data-label": "State" }, h("span", { class: "badge", "data-state": job.status }, stateWord(job.status))),
      figures.map(([word, cell]) => h("td", { class: "number", "data-label": word }, cell(job, jobs[base]))),
      h("td", { "data-label": "Device" }, job.executor ?? job.device ?? "–"))))));
}

const setting = (v) => (v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v));

// One row a setting, one column a job; what differs from the baseline is bold.
function differencesTable({ jobs, differences, differences_omitted: omitted }, base) {
  if (jobs.length < 2) return h("p", { class: "muted" }, "Select a second job to see the differences.");
  if (!differences.length) return h("p", { class: "muted" }, "No differences: these jobs have the same settings.");
  const rows = differences.slice(0, mostDifferences);
  const left = differences.length - rows.length + (omitted ?? 0);
  return [
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Differences in the settings" }, h("table", { class: "anchored settings-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Setting"), jobs.map((job) => h("th", { scope: "col" }, jobName(job))))),
      h("tbody", null, rows.map(({ pointer, values }) => h("tr", null,
        h("th", { scope: "row" }, h("code", null, pointer)),
        values.map((v) => h("td", { class: base < 0 ? null : JSON.stringify(v) === JSON.stringify(values[base]) ? "muted" : "differs" }, setting(v)))))))),
    left > 0 && h("p", { class: "muted" }, `${integer(left)} more are in the CSV.`),
  ];
}

// The newest jobs, to tick; those of the URL that are older stay picked unseen. onChange is called after each tick.
function createPicker(picked, onChange, signal) {
  const list = h("tbody");
  const words = h("span");
  const filter = h("input", { type: "search", placeholder: "Name, tag or id", "aria-label": "Show only jobs whose name, tag or id contains this" });
  const empty = h("p", { class: "empty", hidden: true });
  const none = h("button", { type: "button", class: "button quiet" }, "Pick none");
  const controls = h("div", { class: "toolbar filters" }, filter, none);
  controls.style.marginTop = "10px";
  const box = h("details", { class: "card", open: picked.size < 2 },
    h("summary", null, "Jobs: ", words), controls,
    h("div", { class: "table picker", tabindex: "0", role: "region", "aria-label": "Jobs to select" }, h("table", null,
      h("thead", null, h("tr", null, ["Pick", "Job", "State", "Device", "Loss"].map((word) => h("th", { scope: "col", class: word === "Loss" ? "number" : null }, word)))), list)), empty);
  let jobs = [];

  const fits = (job) => [job.name, job.id, ...(job.tags ?? [])].some((text) => text.toLowerCase().includes(filter.value.toLowerCase()));

  function count() {
    setText(words, picked.size === 0 ? "none selected" : `${picked.size} selected`);
    none.disabled = picked.size === 0;
  }

  function row(job) {
    const tick = h("input", { type: "checkbox", checked: picked.has(job.id), "aria-label": `Compare ${jobName(job)}`, onchange: () => {
      if (tick.checked && picked.size >= mostJobs) {
        tick.checked = false;
        announce(`At most ${mostJobs} jobs can be compared.`);
        return;
      }
      if (tick.checked) picked.add(job.id);
      else picked.delete(job.id);
      count();
      onChange();
    } });
    return h("tr", null,
      h("td", null, tick),
      h("td", null, jobLink(job), " ", (job.tags ?? []).map((tag) => [h("span", { class: "tag", title: tag }, tagWord(tag)), " "])),
      h("td", null, h("span", { class: "badge", "data-state": job.status }, stateWord(job.status))),
      h("td", null, job.device ?? "–"),
      h("td", { class: "number" }, number(job.metrics?.train?.loss ?? null)));
  }

  function show() {
    const found = jobs.filter(fits);
    replace(list, found.slice(0, 100).map(row));
    empty.hidden = found.length > 0;
    setText(empty, jobs.length ? "No job here matches." : "No jobs yet.");
    count();
  }

  none.addEventListener("click", () => {
    picked.clear();
    show();
    onChange();
  });
  filter.addEventListener("input", show);
  count();
  send("/v1/jobs?view=summary&limit=1000", { signal, headers: { Accept: "application/json" } })
    .then((response) => response.json())
    .then((newest) => {
      // Those that are picked come first, then the newest.
      jobs = [...newest.data.filter((job) => picked.has(job.id)), ...newest.data.filter((job) => !picked.has(job.id))];
      show();
    })
    .catch((error) => {
      if (signal.aborted) return;
      setText(empty, error.message);
      empty.hidden = false;
    });
  return { node: box };
}
