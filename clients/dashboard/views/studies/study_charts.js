// study_charts.js: the pictures of a study: the metric over parameters with its crossovers, what each axis does, one job on
// each level as bars, two axes together, the repeats of each cell.

import { h, replace } from "../../dom.js";
import { integer, number, seconds } from "../../format.js";
import { createChart } from "../../chart.js";
import { bars } from "../../bars.js";
import { barOf, boxOf, heatTable, rowsTable } from "../../rows.js";
import { boxesOf, clearCrossovers, crossingWords, effectsOf, interactionOf, levelWords, lineAxes, linesOf, pairsOf, rangeOf, ratioScale, xOf } from "../../cells.js";
import { metricOf, metricText } from "../../trials.js";

const mostBoxes = 60; // rows of the repeats

const measures = [
  { word: "An epoch", metric: "epoch_microseconds", of: (cell) => cell.epochSeconds },
  { word: "The test", of: (cell) => cell.testSeconds },
  { word: "Training and test", of: (cell) => cell.trainSeconds + cell.testSeconds },
];

const card = (id, title, ...content) => h("section", { class: "card", hidden: true, "aria-labelledby": id }, h("div", { class: "toolbar" }, h("h2", { class: "grow", id }, title)), content);

// ": cpu 3.2 times as fast".
function aheadWords(entries) {
  const sorted = entries.filter((entry) => entry.value > 0).sort((a, b) => a.value - b.value);
  if (sorted.length < 2) return "";
  const factor = sorted.at(-1).value / sorted[0].value;
  return factor < 1.05 ? ": about the same" : `: ${sorted[0].label} ${number(factor, 2)} times as fast`;
}

// A <select> that calls onChange; shown only where there is a choice.
function choice(id, label, onChange) {
  const select = h("select", { id, onchange: onChange });
  const node = h("div", { class: "toolbar", hidden: true }, h("label", { for: id }, label), select);
  return {
    node,
    // items: [{value, word}]; what was chosen stays, else `first` is.
    offer(items, first = items[0]?.value) {
      const before = items.some((item) => String(item.value) === select.value) ? select.value : String(first);
      replace(select, items.map((item) => h("option", { value: item.value, selected: String(item.value) === before }, item.word)));
      node.hidden = items.length < 2;
    },
    get value() {
      return select.value;
    },
  };
}

export function studyPanels({ signal }) {
  const line = choice("study-line", "A line each", () => draw());
  const pair = choice("study-pair", "Job", () => draw());
  const axesPair = choice("study-axes", "Axes", () => draw());
  const said = h("div", { class: "said" });
  const chartRoot = h("div");
  const effects = h("div", { class: "effects" });
  const barsRoot = h("div", { class: "grid study-bars" });
  const heat = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "A table of two axes" });
  const boxes = h("div");
  const over = card("study-over", "", said, line.node, chartRoot);
  const effectsCard = card("study-effects", "What each axis changes", effects,
    h("p", { class: "muted small" }, "Bar: the geometric mean over the cells that differ only in this axis; whiskers: 95 % of it. Green is better, red is worse, grey is not significant."));
  const barsCard = card("study-bars", "", pair.node, barsRoot);
  const heatCard = card("study-heat", "Two axes together", axesPair.node, heat,
    h("p", { class: "muted small" }, "Deviation of each pair from the product of its two levels: 0 % everywhere if neither depends on the other."));
  const boxesCard = card("study-boxes", "The repeats of each cell, against their median", boxes,
    h("p", { class: "muted small" }, "Dot: a repeat. Box: the middle half of them. Line: from the least to the greatest. ±: the standard deviation."));
  const node = h("div", { class: "study-charts" }, over, barsCard, effectsCard, h("div", { class: "grid study-pair" }, heatCard, boxesCard));
  let chart = null;
  let chartOf = ""; // what the chart's axes are
  let now = null; // {study, axes, cells}

  function drawLines(x, axis) {
    const { study, axes, cells } = now;
    const { word, format } = metricOf(study.metric);
    const lines = x ? linesOf(axes, cells, x, axis) : [];
    over.hidden = lines.length === 0;
    if (over.hidden) return;
    const log = { x: lines.every((each) => each.x.every((v) => v > 0)), y: cells.every(({ each }) => each.every((v) => v > 0)) };
    const title = `${word} over ${x.name}`;
    replace(over.querySelector("h2"), title);
    if (chartOf !== JSON.stringify([title, log])) {
      chart?.destroy();
      chartOf = JSON.stringify([title, log]);
      const name = x.name[0].toUpperCase() + x.name.slice(1);
      chart = createChart(chartRoot, {
        title: axis === null ? title : `${title}, a line for each ${axes[axis].name}`, air: true, height: 360, signal,
        x: { label: name, log: log.x, format: x.axis < 0 ? integer : number }, y: { label: word, log: log.y, format },
      });
    }
    const crossovers = clearCrossovers(study.crossovers, axis);
    chart.setData(
      lines.flatMap(({ word: label, index, x: xs, mean, each }) => [
        { label, x: xs, y: mean, index, points: true, line: true },
        { label: `${label}, each repeat`, x: xs, y: each, index, points: true, faint: true, quiet: true },
      ]),
      crossovers.map(({ at, interval }) => ({ x: at, interval, word: x.words(at) })));
    const sentences = crossingWords({ study, axes, cells, x });
    const isBracketed = crossovers.some(({ interval }) => interval);
    replace(said, sentences.map((sentence) => h("p", { class: "verdict" }, sentence)),
      h("p", { class: "muted small" }, "Lines: means. Pale dots: each repeat.", isBracketed && " In brackets, and shaded: where the lines cross when each repeat is taken by itself."));
  }

  function drawBars(axis) {
    const { axes, cells } = now;
    const pairs = pairsOf(axes, cells, axis);
    barsCard.hidden = pairs.length === 0;
    if (barsCard.hidden) return;
    pair.offer(pairs.map(({ key, word, parameters }) => ({ value: key, word: parameters > 0 ? `${word}, ${integer(parameters)} parameters` : word })), pairs.at(-1).key);
    const chosen = pairs.find(({ key }) => key === pair.value);
    replace(barsCard.querySelector("h2"), axis === null ? "One cell" : `The same job on each ${axes[axis].name}`);
    const label = (cell) => (axis === null ? chosen.word : levelWords(axes[axis], cell.at[axis]));
    replace(barsRoot, measures.map(({ word, of }) => {
      const entries = chosen.cells.map((cell) => ({ label: label(cell), value: of(cell) ?? 0 }));
      return bars(`${word} of ${chosen.word}`, `${word}${aheadWords(entries)}`, entries);
    }));
  }

  function drawEffects() {
    const found = effectsOf(now.study, now.axes);
    effectsCard.hidden = found.length === 0;
    replace(effects, found.map((effect) => {
      const scale = ratioScale(rangeOf(effect.rows));
      const title = `${effect.name}, against ${effect.against}`;
      return h("figure", { class: "chart" }, h("figcaption", null, h("h3", null, title)),
        rowsTable(title, scale, effect.rows.map((row) => ({ word: row.word, text: row.text, marks: barOf(scale, row) }))));
    }));
  }

  function drawHeat() {
    const { study, axes } = now;
    const items = study.interactions.map((each, i) => ({ value: i, word: each.axes.map((a) => axes[a].name).join(" and "), table: interactionOf(each, axes) })).filter(({ table }) => table);
    heatCard.hidden = items.length === 0;
    if (heatCard.hidden) return;
    axesPair.offer(items);
    const { word, table } = items.find(({ value }) => String(value) === axesPair.value);
    replace(heat, heatTable(`${metricOf(study.metric).word}: ${word} together`, table));
  }

  function drawBoxes(axis) {
    const found = boxesOf(now.axes, now.cells, axis);
    boxesCard.hidden = found.length === 0;
    if (boxesCard.hidden) return;
    const shown = found.slice(0, mostBoxes);
    const scale = ratioScale(shown.flatMap(({ ends }) => ends));
    replace(boxes, rowsTable("The repeats of each cell, against their median", scale, shown.map((row) => ({ word: row.word, text: row.text, marks: boxOf(scale, row) }))),
      found.length > shown.length && h("p", { class: "muted small" }, `The first ${integer(mostBoxes)} of ${integer(found.length)} cells.`));
  }

  function draw() {
    const { axes, cells } = now;
    const x = xOf(axes, cells);
    const candidates = lineAxes(axes, cells, x);
    line.offer(candidates.map((a) => ({ value: a, word: axes[a].name })));
    const words = axes.findIndex(({ isWords }) => isWords);
    const axis = candidates.length ? Number(line.value) : null;
    drawLines(x, axis);
    drawBars(axis ?? (words < 0 ? null : words));
    drawEffects();
    drawHeat();
    drawBoxes(axis);
  }

  return {
    node,
    // What the daemon answers, its axes and its cells (cells.js).
    setStudy(study, axes, cells) {
      now = { study, axes, cells };
      draw();
    },
  };
}

// The cells as a table.
export function cellsTable(study, axes, cells) {
  const { word, format } = metricOf(study.metric);
  const others = measures.filter(({ metric }) => metric !== study.metric);
  const head = [...axes.map(({ name }) => [name]), ["Parameters", "number"], [word, "number"], ...others.map((measure) => [measure.word, "number"]), ["Outcome"]];
  const time = (v) => (Number.isFinite(v) ? seconds(v) : "–");
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "A table of the cells" }, h("table", { class: "compact cells-table" },
    h("thead", null, h("tr", null, head.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))),
    h("tbody", null, cells.map((cell) => h("tr", null,
      axes.map((axis, a) => h("td", null, axis.words[cell.at[a]])),
      h("td", { class: "number" }, integer(cell.parameters)),
      h("td", { class: "number" }, metricText({ metric: cell.mean, deviation: cell.deviation }, format)),
      others.map(({ of }) => h("td", { class: "number" }, time(of(cell)))),
      h("td", null, cell.outcome))))));
}
