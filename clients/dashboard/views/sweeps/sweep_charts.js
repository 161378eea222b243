// sweep_charts.js: the charts of a sweep: the best so far over trials, the metric over each parameter, and
// parallel coordinates. The trials are fetched together; while the sweep runs, seldom enough to cost little.

import { h, setText } from "../../dom.js";
import { getJson } from "../../api.js";
import { integer, isEnded, value } from "../../format.js";
import { createChart } from "../../chart.js";
import { parallelChart } from "../../parallel.js";
import { noteInAddress } from "../../shell.js";
import { metricOf, numberScale, parametersOf, runningBest, thin, valueText, wantsLog } from "../../trials.js";

const mostFetched = 10000; // the daemon's limit: the best of them
const mostDrawn = 2000; // points and lines of a chart
const refreshPauseMs = 1500;
const restShare = 15; // a fetch with its drawing is followed by a rest so many times as long

export function chartPanels({ url, query, signal }) {
  const log = h("button", { type: "button", class: "button", "aria-pressed": String(query.get("log") === "on"), id: "sweep-log" }, "Log scale");
  const note = h("p", { class: "muted small" });
  const overTrials = h("div");
  const parameters = h("div", { class: "grid" });
  const across = h("div");
  const node = h("div", { hidden: true },
    h("section", { class: "card", "aria-labelledby": "over-trials-title" },
      h("div", { class: "toolbar" }, h("h2", { class: "grow", id: "over-trials-title" }, "Best so far"), log), overTrials, note),
    h("section", { class: "card", "aria-labelledby": "parameters-title" }, h("h2", { id: "parameters-title" }, "Metric over each parameter"), parameters),
    h("section", { class: "card", "aria-labelledby": "across-title" }, h("h2", { id: "across-title" }, "Parameters together"), across));

  let sweep = null;
  let fields = []; // parametersOf the sweep
  let trials = []; // with a metric, best first: {trial, values, metric: number}
  let others = 0; // fetched trials without a metric
  let total = 0;
  let charts = null;
  let logChosen = query.has("log"); // by the user
  let shares = () => []; // of a trial on each axis of the parallel coordinates
  let loading = false;
  let stale = false;
  let timer = null;
  let lastMs = 0; // of the last fetch with its drawing

  const isLog = () => log.ariaPressed === "true";
  const sign = () => (sweep.mode === "max" ? -1 : 1);

  function create() {
    const { word, format } = metricOf(sweep.metric, sweep.spec.job.data?.positive);
    const y = { label: word, log: isLog(), format };
    const height = innerWidth < 720 ? 240 : 300;
    charts = {
      overTrials: createChart(overTrials, { title: `${word} over trials, with the best so far`, x: { label: "Trial", format: integer, whole: true }, y, height, signal }),
      fields: fields.map(({ name, pointer, scale }) => {
        const place = h("div", { class: "parameter" }, h("h3", { title: pointer }, name));
        parameters.append(place);
        const x = scale.words
          ? { label: name, whole: true, format: (at) => (Number.isInteger(at) ? scale.words[at] ?? "" : "") }
          : { label: name, log: scale.log, whole: scale.whole && !scale.log };
        return createChart(place, { title: `${word} over ${name}`, x, y, height: 220, points: true, signal });
      }),
      across: parallelChart(across, { title: `${word} and ${integer(fields.length)} parameters of each trial`, signal }),
    };
  }

  // Every trial of `drawn`, and those at which the best changed, by number.
  function drawOverTrials(drawn) {
    const byNumber = [...trials].sort((a, b) => a.trial - b.trial);
    const best = runningBest(byNumber.map(({ metric }) => metric), sweep.mode);
    const shown = new Set(drawn);
    const kept = byNumber.map((_, i) => i).filter((i) => shown.has(byNumber[i]) || best[i] !== best[i - 1] || i === byNumber.length - 1);
    const x = kept.map((i) => byNumber[i].trial);
    charts.overTrials.setData([
      { label: "Best so far", x, y: kept.map((i) => best[i]), steps: true, index: 1 },
      { label: "Trials", x, y: kept.map((i) => (shown.has(byNumber[i]) ? byNumber[i].metric : null)), points: true, index: 0 },
    ]);
  }

  function drawFields(drawn) {
    fields.forEach(({ pointer, scale }, f) => {
      const x = drawn.map(({ values }) => scale.at(values[pointer]));
      charts.fields[f].setData([
        { label: "Trials", x, y: drawn.map(({ metric }) => metric), index: 0 },
        { label: "The best", x, y: drawn.map(({ metric }, i) => (i === 0 ? metric : null)), index: 1 },
      ]);
    });
  }

  function drawAcross(drawn) {
    const { word, format } = metricOf(sweep.metric, sweep.spec.job.data?.positive);
    const metrics = drawn.map(({ metric }) => metric);
    const log_ = isLog() && metrics.every((metric) => metric > 0);
    const scale = numberScale({ least: Math.min(...metrics), most: Math.max(...metrics), log: log_, format });
    shares = ({ values, metric }) => [...fields.map(({ pointer, scale: each }) => each.share(values[pointer])), scale.share(metric)];
    const [best] = drawn;
    charts.across.setData({
      axes: [...fields.map(({ name, pointer, scale: each }) => ({ name, title: pointer, ticks: each.ticks })), { name: word, title: sweep.metric, ticks: scale.ticks }],
      lines: drawn.map(shares),
      words: `${integer(drawn.length)} trials. The best, trial ${best.trial}: ${fields.map(({ name, pointer }) => `${name} ${valueText(best.values[pointer])}`).join(", ")}, ${word} ${format(best.metric)}.`,
    });
  }

  function draw() {
    node.hidden = trials.length === 0;
    if (!trials.length) return;
    if (!logChosen) log.ariaPressed = String(wantsLog(trials.map(({ metric }) => metric)));
    if (!charts) create();
    for (const chart of [charts.overTrials, ...charts.fields]) chart.setLog("y", isLog());
    const drawn = thin(trials, mostDrawn);
    drawOverTrials(drawn);
    drawFields(drawn);
    drawAcross(drawn);
    node.dataset.points = drawn.length;
    const words = [`${integer(trials.length)} ${trials.length === 1 ? "trial" : "trials"}`];
    if (others) words.push(`${integer(others)} without a metric are left out`);
    if (total > mostFetched) words.push(`the best ${integer(mostFetched)} of ${integer(total)}`);
    if (drawn.length < trials.length) words.push(`${integer(drawn.length)} are drawn`);
    setText(note, `${words.join("; ")}.`);
  }

  function take({ data, total: all }) {
    total = all;
    trials = data.map(({ trial, values, metric }) => ({ trial, values, metric: value(metric) })).filter(({ metric }) => Number.isFinite(metric));
    others = data.length - trials.length;
    trials.sort((a, b) => sign() * (a.metric - b.metric) || a.trial - b.trial);
  }

  // At once, and again where the sweep has changed meanwhile, after a rest.
  async function load() {
    timer = null;
    loading = true;
    stale = false;
    const began = performance.now();
    try {
      take(await getJson(`${url}/trials?sort=metric&limit=${mostFetched}`, { signal }));
      if (signal.aborted) return;
      draw();
    } catch (error) {
      if (signal.aborted) return;
      setText(note, `The trials could not be read: ${error.message}`);
    } finally {
      loading = false;
    }
    lastMs = performance.now() - began;
    if (stale) later();
  }

  function later() {
    timer ??= setTimeout(load, isEnded(sweep) ? 0 : Math.max(refreshPauseMs, lastMs * restShare));
  }

  log.addEventListener("click", () => {
    logChosen = true;
    log.ariaPressed = String(!isLog());
    noteInAddress({ log: isLog() ? "on" : "off" });
    draw();
  });
  signal.addEventListener("abort", () => clearTimeout(timer));

  return {
    node,
    // Draws one trial on top of the parallel coordinates; null: none.
    highlight(trial) {
      if (!charts) return;
      const metric = trial && value(trial.metric);
      charts.across.highlight(trial ? shares({ ...trial, metric }) : null);
    },
    sweepChanged(fresh) {
      const before = sweep;
      sweep = fresh;
      if (!before) {
        fields = parametersOf(sweep.spec.space);
        load();
      } else if (sweep.progress.done !== before.progress.done || sweep.status !== before.status) {
        stale = true;
        if (isEnded(sweep)) {
          clearTimeout(timer);
          timer = null;
        }
        if (!loading) later();
      }
    },
  };
}
