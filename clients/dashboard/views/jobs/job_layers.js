// job_layers.js: what each layer looked like over the epochs, of a job with "report": {"layers": true}: norms, dead
// units, and the histogram of one layer's outputs as columns of shades.

import { h, replace, setText } from "../../dom.js";
import { integer, number, percent, value } from "../../format.js";
import { createChart } from "../../chart.js";

const measures = [
  ["gradient_norm", "Gradient norm", true],
  ["weight_norm", "Weight norm", true],
  ["dead", "Share of dead units", false],
];
const columnsMost = 60; // of the histograms: more are thinner than a phone shows

// Lines at equal distances, the newest among them.
const thinned = (lines) => {
  const count = Math.min(columnsMost, lines.length);
  return Array.from({ length: count }, (_, i) => lines[count > 1 ? Math.round((i * (lines.length - 1)) / (count - 1)) : 0]);
};

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, text] of Object.entries(attributes)) node.setAttribute(name, text);
  node.append(...children);
  return node;
}

// A column an epoch, the greatest output at the top; the more outputs, the darker.
function histograms(lines, at) {
  const columns = thinned(lines).map((line) => line.layers[at]);
  const low = Math.min(...columns.map(({ low: least }) => least));
  const high = Math.max(...columns.map(({ high: most }) => most));
  const span = high - low || 1;
  const picture = svg("svg", { class: "histograms", viewBox: `0 0 ${columns.length} 1`, preserveAspectRatio: "none", role: "img",
    "aria-label": `Outputs of layer ${columns[0].layer} over the epochs, from ${number(low, 3)} to ${number(high, 3)}` });
  columns.forEach((layer, x) => {
    const most = Math.max(...layer.counts, 1);
    const step = (layer.high - layer.low) / layer.counts.length;
    layer.counts.forEach((count, bin) => {
      const top = (high - (layer.low + (bin + 1) * step)) / span;
      if (count > 0) picture.append(svg("rect", { x, y: top, width: 1, height: Math.max(step / span, 0.01), "fill-opacity": (0.1 + (0.9 * count) / most).toFixed(3) }));
    });
  });
  return { picture, low, high };
}

export function layersPanel({ signal }) {
  const measure = h("select", { id: "layers-measure", "aria-label": "Quantity to plot" }, measures.map(([key, word]) => h("option", { value: key }, word)));
  const layer = h("select", { id: "layers-layer", "aria-label": "The layer whose outputs are drawn" });
  const place = h("div");
  const shades = h("div");
  const note = h("p", { class: "muted small" });
  const node = h("section", { class: "card", hidden: true, "aria-labelledby": "layers-title" },
    h("div", { class: "toolbar" }, h("h2", { class: "grow", id: "layers-title" }, "Layers"), measure),
    place,
    h("div", { class: "toolbar" }, h("h3", { class: "grow" }, "Outputs"), layer),
    shades, note);

  const lines = [];
  let chart = null;
  let drawn = 0;

  function create() {
    const [, word, log] = measures.find(([key]) => key === measure.value);
    chart?.destroy();
    chart = createChart(place, { title: word, x: { label: "Epoch", format: integer, whole: true }, y: { label: word, log }, height: 240, signal });
  }

  function draw() {
    if (lines.length === 0 || drawn === lines.length) return;
    drawn = lines.length;
    node.hidden = false;
    node.dataset.lines = lines.length;
    const newest = lines.at(-1);
    if (!chart) {
      create();
      replace(layer, newest.layers.map(({ layer: name, type }, i) => h("option", { value: String(i) }, `${name} ${type}`)));
    }
    const x = lines.map(({ epoch }) => epoch);
    chart.setData(newest.layers
      .map(({ layer: name, type }, i) => ({ label: `${name} ${type}`, x, y: lines.map(({ layers }) => value(layers[i][measure.value])) }))
      .filter(({ y }) => y.some((v) => v !== null)));
    const at = Number(layer.value);
    const { picture, low, high } = histograms(lines, at);
    replace(shades, picture);
    const { dead } = newest.layers[at];
    setText(note, `Epochs ${integer(x[0])} to ${integer(x.at(-1))}, outputs ${number(low, 3)} (bottom) to ${number(high, 3)} (top)` +
      `${dead === null ? "" : `; ${percent(dead)} of the units are 0 for all rows of the sample`}.`);
  }

  const again = () => {
    drawn = 0;
    draw();
  };
  measure.addEventListener("change", () => {
    create();
    again();
  });
  layer.addEventListener("change", again);
  return {
    node,
    draw,
    add(event) {
      lines.push(event);
    },
  };
}
