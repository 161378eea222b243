// job_plots.js: the plots of a job: a picture of each, and what can be set about it (plot_controls.js). They are asked
// for on demand, because a worker computes them. While the job trains, a picture is drawn again and again.

import { h, replace } from "../../dom.js";
import { download, getJson, send } from "../../api.js";
import { noteInAddress } from "../../shell.js";
import { controlsOf } from "./plot_controls.js";

const titles = {
  confusion: "Confusion", roc: "ROC", pr: "Precision and recall", calibration: "Calibration", predictions: "Predictions",
  residuals: "Residuals", boundary: "Boundary", importance: "Importance", dependence: "Dependence", mistakes: "Mistakes",
  uncertain: "Uncertain rows", weights: "Weights", network: "Network", timelapse: "Time-lapse",
};
const livePauseMs = 1000; // between two pictures of a training, besides what they take

const addressed = (address, query) => `${address}?${new URLSearchParams(query)}`;

// query: of the address, which has the plot that is shown. decideBy(probability, class) hands a threshold on to predictions.
export function plotsPanel({ url, query, signal, act, decideBy }) {
  const start = h("button", { type: "button", class: "button" }, "Show plots");
  const toolbar = h("div", { class: "toolbar" }, start);
  const shown = h("div", null);
  const node = h("section", { class: "card", hidden: true, "aria-label": "Plots" }, h("h2", null, "Plots"), toolbar, shown);

  let job = null;
  let written = false; // a checkpoint, by the job that trains
  let current = null; // the plot that is shown: {name, redraw}
  let timer = null;
  let asked = false; // for the plots

  const training = () => job?.status === "running";
  const films = () => Boolean(job?.spec.timelapse_every);
  const ended = () => job?.status === "succeeded" && Boolean(job.weights);
  // Whose network is drawn: of a training the newest that is on disk.
  const source = () => (!training() ? {} : films() ? { epoch: "latest" } : { checkpoint: "latest" });

  async function showPlot(name) {
    const address = `${url}/plots/${name}`;
    const picture = h("img", { alt: `${titles[name] ?? name} of this job`, class: "plot-picture", "data-plot": name });
    const picked = {}; // what the controls say, as parameters
    const fetchNumbers = (more = {}) => getJson(addressed(address, { ...source(), ...picked, ...more, format: "json" }), { signal });
    const redraw = async () => {
      const drawn = controls.drawn?.() ?? { address, query: {} };
      const response = await send(addressed(drawn.address, { ...source(), ...picked, ...drawn.query, format: "svg", theme: document.documentElement.dataset.theme }), { signal });
      picture.src = `data:image/svg+xml,${encodeURIComponent(await response.text())}`;
      picture.hidden = false;
    };
    const controls = controlsOf(name, { url, address, picked, fetchNumbers, redraw, picture, signal, act, decideBy });
    await redraw();
    await controls.load?.();
    const saves = (controls.formats ?? ["svg"]).map((format) => {
      const save = h("button", { type: "button", class: "button" }, controls.words?.[format] ?? `Download ${format.toUpperCase()}`);
      save.addEventListener("click", () => act(save, () =>
        download(addressed(address, { ...source(), ...picked, ...(controls.saved ?? {}), format }), `${name}.${format}`, { signal })));
      return save;
    });
    current?.stop?.();
    current = { name, redraw: async () => { await redraw(); await controls.load?.(); }, stop: controls.stop };
    replace(shown, controls.before, picture, controls.after, h("div", { class: "toolbar plot-controls" }, saves));
    follow();
  }

  async function list() {
    asked = true;
    const { data } = await getJson(addressed(`${url}/plots`, source()), { signal });
    const tabs = data.map(({ name, shows }) => {
      const tab = h("button", { type: "button", class: "button", title: shows, "aria-pressed": "false", "data-plot": name }, titles[name] ?? name);
      tab.addEventListener("click", () => act(tab, async () => {
        await showPlot(name);
        for (const each of tabs) each.setAttribute("aria-pressed", String(each === tab));
        noteInAddress({ plot: name });
      }));
      return tab;
    });
    replace(toolbar, tabs.length > 0 ? tabs : h("p", { class: "muted" }, "No plots for this job."));
    // of a picture that forms, the picture is what one comes to see
    (tabs.find((tab) => tab.dataset.plot === query.get("plot")) ?? tabs.find((tab) => training() && tab.dataset.plot === "boundary") ?? tabs[0])?.click();
  }

  // What is gone meanwhile is drawn the next time.
  const showAgain = () => current?.redraw().catch(() => {});

  // The moments of a time-lapse come without an event.
  function follow() {
    clearTimeout(timer);
    if (!training() || !films() || !current || signal.aborted) return;
    timer = setTimeout(async () => {
      if (!document.hidden && current?.name !== "timelapse") await showAgain();
      follow();
    }, livePauseMs);
  }

  addEventListener("epochd-theme", showAgain, { signal });
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    current?.stop?.();
  });
  start.addEventListener("click", () => act(start, list));
  return {
    node,
    jobChanged(fresh) {
      const before = job?.status;
      job = fresh;
      if (ended() && before === "running" && current) showAgain();
      node.hidden = !ended() && !(training() && (written || films()));
      if (!node.hidden && query.has("plot") && !asked) start.click();
      if (before !== job.status) follow();
    },
    // A checkpoint was written: what is shown is drawn again.
    checkpointWritten() {
      written = true;
      node.hidden = false;
      if (!films()) showAgain();
    },
  };
}
