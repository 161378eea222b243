// plot_controls.js: what can be set about a plot of a job: {before, after: nodes about the picture, load: fills them
// after each drawing, drawn: what the picture is asked for, formats: of the downloads, stop}.

import { h, replace, setText } from "../../dom.js";
import { announce } from "../../shell.js";
import { integer, number, percent } from "../../format.js";

const fewShuffles = 5; // the daemon's default
const mostShuffles = 1000; // and its limit

// What follows from each threshold; the points of both curves are ordered by it.
function thresholds(name, { fetchNumbers, decideBy }) {
  const slider = h("input", { type: "range", min: "0", max: "0", step: "1", id: "plot-threshold" });
  const words = h("output", { for: "plot-threshold" });
  let plot = null;
  const show = () => {
    const i = Number(slider.value), at = number(Number(plot.thresholds[i]), 4); // "Infinity" is a text
    setText(words, name === "roc"
      ? `${plot.score} of “${plot.class}” ${at}: true positives ${percent(plot.tpr[i])}, false positives ${percent(plot.fpr[i])}`
      : `${plot.score} of “${plot.class}” ${at}: precision ${percent(plot.precision[i])}, recall ${percent(plot.recall[i])}`);
  };
  // as the daemon makes a probability of a score: equal ones decide alike
  const probability = () => {
    const at = Number(plot.thresholds[Number(slider.value)]);
    return Math.min(1, plot.score === "logit" ? 1 / (1 + Math.exp(-at)) : at);
  };
  const use = h("button", { type: "button", class: "button" }, "Predict with it");
  use.addEventListener("click", () => decideBy(probability(), plot.class));
  slider.addEventListener("input", show);
  return {
    after: h("div", { class: "field" }, h("label", { for: "plot-threshold" }, "Threshold"), slider, words, h("div", { class: "toolbar" }, use)),
    async load() {
      plot = await fetchNumbers();
      slider.max = String(plot.thresholds.length - 1);
      use.hidden = plot.classes.length !== 2 || plot.class !== plot.classes[1];
      slider.value = String(Math.max(0, plot.thresholds.indexOf(plot.best_f1.threshold)));
      show();
    },
  };
}

// Draws with a parameter, or without it. Where that fails, it is what it was, as the picture is.
async function redrawWith({ picked, redraw }, key, value) {
  const before = picked[key];
  const set = (to) => {
    if (to === undefined) delete picked[key];
    else picked[key] = to;
  };
  set(value);
  await redraw().catch((error) => {
    set(before);
    throw error;
  });
}

// A button that is in or out, and what it sets.
function toggle(word, key, panel) {
  const button = h("button", { type: "button", class: "button", "aria-pressed": "false" }, word);
  button.addEventListener("click", () => panel.act(button, async () => {
    await redrawWith(panel, key, panel.picked[key] ? undefined : "true");
    button.setAttribute("aria-pressed", String(Boolean(panel.picked[key])));
  }));
  return h("div", { class: "toolbar plot-controls" }, button);
}

// Rows of a table as a table: its cells have names. Rows that are pictures stay in the picture.
function examples({ fetchNumbers, picture }) {
  const after = h("div", null);
  const controls = { after, formats: ["svg"] };
  controls.load = async () => {
    const plot = await fetchNumbers();
    picture.hidden = !plot.picture && plot.examples.length > 0;
    if (plot.picture) controls.formats.splice(1, 1, "png");
    if (!picture.hidden) return replace(after);
    const heads = ["Row", "True", "Predicted", "Probability", ...plot.columns];
    return replace(after,
      h("p", { class: "muted" }, `${integer(plot.wrong)} of ${integer(plot.rows)} rows are misclassified.`),
      h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", { class: "compact plot-examples" },
        h("thead", null, h("tr", null, heads.map((word) => h("th", { scope: "col" }, word)))),
        h("tbody", null, plot.examples.map(({ row, target, prediction, probability, values }) => h("tr", null,
          h("th", { scope: "row", class: "number" }, integer(row)), h("td", null, target), h("td", null, prediction),
          h("td", { class: "number" }, percent(probability)),
          values.map((cell) => (typeof cell === "string" ? h("td", null, cell) : h("td", { class: "number" }, number(cell))))))))));
  };
  return controls;
}

function layers(panel) {
  const select = h("select", { id: "plot-layer" });
  select.addEventListener("change", () => panel.act(select, async () => {
    await redrawWith(panel, "layer", select.value).finally(() => (select.value = panel.picked.layer ?? select.options[0].value));
  }));
  const before = h("div", { class: "field" }, h("label", { for: "plot-layer" }, "Layer"), select);
  return {
    before,
    formats: ["svg", "png"],
    async load() {
      if (select.options.length > 0) return;
      const plot = await panel.fetchNumbers();
      replace(select, plot.layers.map((layer) => h("option", { value: layer }, layer)));
      before.hidden = plot.layers.length < 2;
    },
  };
}

// How often each column is shuffled. The field keeps the focus while the picture is drawn.
function shuffles(panel) {
  const count = h("input", { id: "plot-repeats", type: "number", min: "1", max: String(mostShuffles), step: "1", value: String(fewShuffles), required: true, "aria-describedby": "plot-repeats-hint" });
  const draw = h("button", { class: "button" }, "Draw");
  const before = h("form", { class: "plot-controls" },
    h("div", { class: "field" }, h("label", { for: count.id }, "Shuffles of each column"), count,
      h("span", { class: "hint", id: "plot-repeats-hint" }, `1 to ${integer(mostShuffles)}: more shuffles separate close columns better, and take longer.`)),
    h("div", { class: "toolbar" }, draw));
  before.addEventListener("submit", (event) => {
    event.preventDefault();
    panel.act(draw, async () => {
      await redrawWith(panel, "repeats", String(Number(count.value)));
      announce(`The importances are those of ${integer(Number(count.value))} ${count.value === "1" ? "shuffle" : "shuffles"}.`);
    });
  });
  return { before };
}

// The boundary at each moment, by a slider: a film that one can stop.
function moments({ url, fetchNumbers, picked, redraw, signal, act }) {
  const stepMs = 250;
  const slider = h("input", { type: "range", min: "0", max: "0", step: "1", id: "plot-moment" });
  const words = h("output", { for: "plot-moment" });
  const play = h("button", { type: "button", class: "button", "aria-pressed": "false" }, "Play");
  let epochs = [];
  let drawing = false, again = false;
  let playing = null;
  const show = async () => {
    if (drawing) return void (again = true); // only the newest place matters
    drawing = true;
    do {
      again = false;
      setText(words, `after epoch ${integer(epochs[Number(slider.value)])}`);
      await redraw().catch(() => {});
    } while (again && !signal.aborted);
    drawing = false;
  };
  const stop = () => {
    clearTimeout(playing);
    playing = null;
    play.setAttribute("aria-pressed", "false");
    setText(play, "Play");
  };
  const step = async () => {
    await show();
    if (playing === null || signal.aborted) return;
    if (Number(slider.value) >= epochs.length - 1) return stop();
    playing = setTimeout(() => {
      slider.value = String(Number(slider.value) + 1);
      step();
    }, stepMs);
  };
  slider.addEventListener("input", () => {
    stop();
    show();
  });
  play.addEventListener("click", () => {
    if (playing !== null) return stop();
    if (Number(slider.value) >= epochs.length - 1) slider.value = "0";
    play.setAttribute("aria-pressed", "true");
    setText(play, "Stop");
    playing = 0;
    step();
  });
  return {
    before: toggle("y downwards", "y_down", { picked, redraw, act }),
    after: h("div", { class: "field" }, h("label", { for: "plot-moment" }, "Moment"), slider, h("div", { class: "toolbar" }, play, words)),
    formats: ["png", "svg"],
    words: { png: "Download animated PNG", svg: "Download animated SVG" },
    saved: { size: 200 },
    drawn: () => ({ address: `${url}/plots/boundary`, query: { epoch: epochs.length ? epochs[Number(slider.value)] : "latest" } }),
    async load() {
      if (epochs.length > 0) return;
      epochs = (await fetchNumbers({ size: 2 })).frames.map(({ epoch }) => epoch);
      slider.max = String(epochs.length - 1);
      slider.value = slider.max;
      setText(words, `after epoch ${integer(epochs.at(-1))}`);
    },
    stop,
  };
}

export function controlsOf(name, panel) {
  if (name === "roc" || name === "pr") return thresholds(name, panel);
  if (name === "confusion") return { before: toggle("Share of each class", "normalize", panel) };
  if (name === "boundary") return { before: toggle("y downwards", "y_down", panel), formats: ["svg", "png"] };
  if (name === "mistakes" || name === "uncertain") return examples(panel);
  if (name === "weights") return layers(panel);
  if (name === "importance") return shuffles(panel);
  if (name === "timelapse") return moments(panel);
  return {};
}
