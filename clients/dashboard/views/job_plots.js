// job_plots.js: the plots of a job that ended: a picture of each, and the threshold of a curve by a slider. They are
// asked for on demand, because a worker computes them.

import { h, replace, setText } from "../dom.js";
import { download, getJson, send } from "../api.js";
import { number, percent } from "../format.js";

const titles = {
  confusion: "Confusion", roc: "ROC", pr: "Precision and recall", calibration: "Calibration", predictions: "Predictions",
  residuals: "Residuals", boundary: "Boundary", importance: "Importance", dependence: "Dependence",
};

// What follows from each threshold; the points of both curves are ordered by it.
function thresholdSlider(name, plot) {
  const thresholds = plot.thresholds.map(Number); // "Infinity" is a text
  const slider = h("input", { type: "range", min: "0", max: String(thresholds.length - 1), step: "1", id: "plot-threshold" });
  const words = h("output", { for: "plot-threshold" });
  const best = thresholds.indexOf(Number(plot.best_f1.threshold));
  const show = () => {
    const i = Number(slider.value);
    setText(words, name === "roc"
      ? `${plot.score} ${number(thresholds[i], 4)}: true positives ${percent(plot.tpr[i])}, false positives ${percent(plot.fpr[i])}`
      : `${plot.score} ${number(thresholds[i], 4)}: precision ${percent(plot.precision[i])}, recall ${percent(plot.recall[i])}`);
  };
  slider.value = String(Math.max(0, best));
  slider.addEventListener("input", show);
  show();
  return h("div", { class: "field" }, h("label", { for: "plot-threshold" }, "Threshold"), slider, words);
}

export function plotsPanel({ url, signal, act }) {
  const start = h("button", { type: "button", class: "button" }, "Show plots");
  const toolbar = h("div", { class: "toolbar" }, start);
  const shown = h("div", null);
  const node = h("section", { class: "card", hidden: true, "aria-label": "Plots" }, h("h2", null, "Plots"), toolbar, shown);

  let latest = false; // the job trains: the newest checkpoint is drawn
  let current = null; // the plot that is shown
  const query = (format) => `?format=${format}${latest ? "&checkpoint=latest" : ""}`;

  async function showPlot(name) {
    const address = `${url}/plots/${name}`;
    const response = await send(address + query("svg"), { signal });
    const picture = h("img", {
      src: `data:image/svg+xml,${encodeURIComponent(await response.text())}`, alt: `${titles[name] ?? name} of this job`,
      class: "plot-picture", "data-plot": name,
    });
    const parts = [picture];
    if (name === "roc" || name === "pr") parts.push(thresholdSlider(name, await getJson(address + query("json"), { signal })));
    const save = h("button", { type: "button", class: "button" }, "Download SVG");
    save.addEventListener("click", () => act(save, () => download(address + query("svg"), `${name}.svg`, { signal })));
    current = name;
    replace(shown, parts, save);
  }

  async function list() {
    const { data } = await getJson(`${url}/plots${latest ? "?checkpoint=latest" : ""}`, { signal });
    const tabs = data.map(({ name, shows }) => {
      const tab = h("button", { type: "button", class: "button", title: shows, "aria-pressed": "false", "data-plot": name }, titles[name] ?? name);
      tab.addEventListener("click", () => act(tab, async () => {
        await showPlot(name);
        for (const each of tabs) each.setAttribute("aria-pressed", String(each === tab));
      }));
      return tab;
    });
    replace(toolbar, tabs.length > 0 ? tabs : h("p", { class: "muted" }, "No plot fits this job."));
    tabs[0]?.click();
  }

  function showAgain(training) {
    latest = training;
    if (current) showPlot(current).catch(() => {}); // the checkpoint is gone: the next one is drawn
  }

  start.addEventListener("click", () => act(start, list));
  return {
    node,
    jobChanged(job) {
      const ended = job.status === "succeeded" && Boolean(job.weights);
      if (ended && latest && current) showAgain(false);
      latest = latest && job.status === "running";
      node.hidden = !ended && !latest;
    },
    // A checkpoint was written: what is shown is drawn again.
    checkpointWritten() {
      node.hidden = false;
      showAgain(true);
    },
  };
}
