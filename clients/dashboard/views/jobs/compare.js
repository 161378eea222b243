// compare.js: jobs side by side: their curves in one chart, their metrics, and the settings that differ.
// The URL holds the jobs and the options of the chart.

import { createChart } from "../../chart.js";
import { download, poll, send } from "../../api.js";
import { h, replace, setText } from "../../dom.js";
import { integer, isEnded, jobName, metricNames, number, seconds, stateWord, value } from "../../format.js";
import { announce } from "../../shell.js";

export const title = "Compare";

const mostJobs = 32; // the daemon's limit
const mostDifferences = 60; // shown; the CSV has all of them
const axes = { epoch: "Epoch", elapsed_seconds: "Seconds of training" };
const curveNames = { loss: "Loss", validation_loss: "Validation loss", error: "Error rate", validation_error: "Validation error rate" };

export function mount(root, { query }, signal) {
  const picked = new Set((query.get("jobs") ?? "").split(",").filter(Boolean).slice(0, mostJobs));
  const shown = {
    x: Object.hasOwn(axes, query.get("x")) ? query.get("x") : "epoch",
    y: Object.hasOwn(curveNames, query.get("y")) ? query.get("y") : "loss",
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
  const xSelect = select("Over", axes, shown.x, (word) => redraw({ x: word }));
  const ySelect = select("Curve", curveNames, shown.y, (word) => redraw({ y: word }));
  const logY = check("Log scale", query.get("log") !== "off", (on) => {
    chart?.setLog("y", on);
    note();
  });
  const content = h("div", { hidden: true },
    h("section", { class: "card" }, h("h2", null, "Curves"),
      h("div", { class: "toolbar" }, xSelect, ySelect, logY), chartRoot),
    h("section", { class: "card" }, h("h2", null, "Results"), results),
    h("section", { class: "card" }, h("h2", null, "What differs in the settings"), differences));
  content.style.marginTop = "16px";
  root.append(
    h("div", { class: "heading" }, h("h1", null, "Compare"), h("div", { class: "toolbar" }, csv)),
    picker.node, failure, content);

  const path = () => `/v1/compare?jobs=${[...picked].map(encodeURIComponent).join(",")}&max_points=1000`;

  function note() {
    const words = new URLSearchParams();
    if (shown.x !== "epoch") words.set("x", shown.x);
    if (shown.y !== "loss") words.set("y", shown.y);
    if (!logY.querySelector("input").checked) words.set("log", "off");
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
    replace(results, resultsTable(comparison));
    replace(differences, differencesTable(comparison));
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
      await download(`${path().replace(/&max_points=\d+/, "")}&format=csv`, "comparison.csv", { signal });
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

// One row a job: device, times, metrics.
function resultsTable({ jobs }) {
  const names = Object.keys(metricNames).filter((name) => jobs.some((job) => (job.metrics?.test?.[name] ?? null) !== null));
  const head = ["Job", "State", "Device", "Parameters", "Training", "An epoch", "Test", ...names.map((name) => `Test ${metricNames[name].word}`)];
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Results" }, h("table", null,
    h("thead", null, h("tr", null, head.map((word, i) => h("th", { scope: "col", class: i > 2 ? "number" : null }, word)))),
    h("tbody", null, jobs.map((job) => h("tr", null,
      h("th", { scope: "row" }, jobLink(job)),
      h("td", null, h("span", { class: "badge", "data-state": job.status }, stateWord(job.status))),
      h("td", null, job.executor ?? job.device ?? "–"),
      h("td", { class: "number" }, integer(job.model?.parameters)),
      h("td", { class: "number" }, seconds(job.timing.train_seconds)),
      h("td", { class: "number" }, seconds(job.timing.epoch_microseconds === null ? null : job.timing.epoch_microseconds / 1e6)),
      h("td", { class: "number" }, seconds(job.timing.test_seconds)),
      names.map((name) => h("td", { class: "number" }, metricNames[name].format(job.metrics?.test?.[name] ?? null))))))));
}

const setting = (v) => (v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v));

// One row a setting, one column a job.
function differencesTable({ jobs, differences, differences_omitted: omitted }) {
  if (jobs.length < 2) return h("p", { class: "muted" }, "Pick a second job to see what differs.");
  if (!differences.length) return h("p", { class: "muted" }, "Nothing: these jobs have the same settings.");
  const rows = differences.slice(0, mostDifferences);
  const left = differences.length - rows.length + (omitted ?? 0);
  return [
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "What differs in the settings" }, h("table", null,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Setting"), jobs.map((job) => h("th", { scope: "col" }, jobName(job))))),
      h("tbody", null, rows.map(({ pointer, values }) => h("tr", null,
        h("th", { scope: "row" }, h("code", null, pointer)),
        values.map((v) => h("td", null, setting(v)))))))),
    left > 0 && h("p", { class: "muted" }, `${integer(left)} more are in the CSV.`),
  ];
}

// The newest jobs, to tick; those of the URL that are older stay picked unseen. onChange is called after each tick.
function createPicker(picked, onChange, signal) {
  const list = h("tbody");
  const words = h("span");
  const filter = h("input", { type: "search", placeholder: "Name, tag or id", "aria-label": "Show only jobs whose name, tag or id has this" });
  const empty = h("p", { class: "empty", hidden: true });
  const none = h("button", { type: "button", class: "button quiet" }, "Pick none");
  const controls = h("div", { class: "toolbar filters" }, filter, none);
  controls.style.marginTop = "10px";
  const box = h("details", { class: "card", open: picked.size < 2 },
    h("summary", null, "Jobs: ", words), controls,
    h("div", { class: "table picker", tabindex: "0", role: "region", "aria-label": "Jobs to pick" }, h("table", null,
      h("thead", null, h("tr", null, ["Pick", "Job", "State", "Device", "Loss"].map((word) => h("th", { scope: "col", class: word === "Loss" ? "number" : null }, word)))), list)), empty);
  let jobs = [];

  const fits = (job) => [job.name, job.id, ...(job.tags ?? [])].some((text) => text.toLowerCase().includes(filter.value.toLowerCase()));

  function count() {
    setText(words, picked.size === 0 ? "none picked yet" : `${picked.size} picked`);
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
      h("td", null, jobLink(job), " ", (job.tags ?? []).map((tag) => [h("span", { class: "tag" }, tag), " "])),
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
