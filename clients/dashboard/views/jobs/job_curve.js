// job_curve.js: the curve of a job, live. The daemon thins it; the first zoom into a long one fetches more
// points.

import { h, setText } from "../../dom.js";
import { download, getJson } from "../../api.js";
import { integer, isEnded, value } from "../../format.js";
import { createChart } from "../../chart.js";
import { noteInAddress } from "../../shell.js";

const points = 2000; // of the first request
const pointsZoomed = 50000;
const formats = [
  ["csv", "CSV", (name) => `${name}.csv`],
  ["svg", "SVG", (name) => `${name}.svg`],
  ["tfevents", "TensorBoard", (name) => `events.out.tfevents.${name}`],
];
const refreshShare = 0.04; // of all epochs: that far ahead of the fetched curve, all points are fetched again
const refreshPauseMs = 2500;

// query: of the address, which has what is drawn.
export function curvePanel({ url, query, signal }) {
  const measure = h("select", { id: "curve-measure" }, h("option", { value: "loss" }, "Loss"), h("option", { value: "error" }, "Error rate"));
  measure.setAttribute("aria-label", "Quantity to plot");
  const over = h("select", { id: "curve-over" }, h("option", { value: "epoch" }, "over epochs"), h("option", { value: "seconds" }, "over seconds"));
  over.setAttribute("aria-label", "Horizontal axis");
  const log = h("button", { type: "button", class: "button", "aria-pressed": "false", id: "curve-log" }, "Log scale");
  const smoothing = h("input", { id: "curve-smoothing", type: "range", min: "0", max: "0.99", step: "0.01", value: "0" });
  if (query.get("y") === "error") measure.value = "error";
  if (query.get("x") === "seconds") over.value = "seconds";
  if (query.get("log") === "on") log.ariaPressed = "true";
  if (Number(query.get("smoothing")) > 0) smoothing.value = query.get("smoothing");
  const noteView = () => noteInAddress({
    y: measure.value === "loss" ? "" : measure.value, x: over.value === "epoch" ? "" : over.value,
    log: log.ariaPressed === "true" ? "on" : "", smoothing: smoothing.value === "0" ? "" : smoothing.value,
  });
  const reset = h("button", { type: "button", class: "button", hidden: true }, "Reset zoom");
  const note = h("p", { class: "muted small curve-note grow" });
  const downloads = formats.map(([format, word, nameOf]) => {
    const button = h("button", { type: "button", class: "button quiet", "aria-label": `Download the curve as ${word}` }, word);
    button.addEventListener("click", () => {
      const name = (job?.name || job?.id || "curve").replace(/[^A-Za-z0-9_.-]+/g, "-");
      download(`${url}/curve?format=${format}`, nameOf(name), { signal }).catch((error) => setText(note, error.message));
    });
    return button;
  });
  const place = h("div");
  const node = h("section", { class: "card", "aria-labelledby": "curve-title" },
    h("div", { class: "toolbar" },
      h("h2", { class: "grow", id: "curve-title" }, "Error curve"),
      measure, over, log,
      h("label", { class: "check", for: "curve-smoothing" }, "Smoothing ", smoothing),
      reset),
    place,
    h("div", { class: "toolbar curve-foot" }, note, downloads));

  let job = null;
  let data = null; // the curve as fetched, with live points appended
  let detailed = false; // pointsZoomed were fetched
  let followed = []; // epochs of the stream since the last fetch began
  let loadedTo = 0; // the last epoch that was fetched
  let loadedAtMs = -Infinity;
  let loading = false;
  let stale = false;
  let endSeen = false;
  let chart = null;

  function create() {
    chart?.destroy();
    chart = createChart(place, {
      title: "Error curve",
      x: over.value === "epoch" ? { label: "Epoch", format: integer, whole: true } : { label: "Seconds of training" },
      y: { label: measure.value === "loss" ? "Loss" : "Error rate", log: log.ariaPressed === "true" },
      height: innerWidth < 720 ? 240 : 340,
      signal,
      onZoom: (min) => {
        reset.hidden = min === null;
        if (min !== null && !detailed && data && data.epoch.length >= points) {
          detailed = true;
          load();
        }
      },
    });
    chart.setSmoothing(Number(smoothing.value));
    draw();
  }

  const column = (name) => (data[name] ?? []).map(value);

  function draw() {
    if (!data || !chart) return;
    if (!data.error && data.epoch.length) measure.value = "loss";
    const error = measure.value === "error";
    const x = over.value === "epoch" ? data.epoch : data.elapsed_seconds;
    const curves = [{ label: error ? "Training error rate" : "Training loss", x, y: column(error ? "error" : "loss") }];
    const validation = column(error ? "validation_error" : "validation_loss");
    if (validation.some((v) => v !== null)) curves.push({ label: error ? "Validation error rate" : "Validation loss", x, y: validation, dash: [6, 3] });
    chart.setData(curves);
    node.dataset.points = data.epoch.length;
    node.dataset.redrawMs = chart.redrawMs.toFixed(2);
    measure.options[1].disabled = !data.error;
    const drawn = column("loss").filter(Number.isFinite).length;
    node.hidden = isEnded(job) && drawn < (job.status === "failed" ? 2 : 1); // it ended before there was a curve
    setText(note, data.epoch.length
      ? `${integer(data.epoch.length)} ${data.epoch.length === 1 ? "point" : "points"}. Drag to zoom, double-click to reset; with the keyboard: +, −, arrows, 0.`
      : "No epoch has been reported yet.");
  }

  // The newest response counts; a stale one is fetched again at once.
  async function load() {
    if (loading) {
      stale = true;
      return;
    }
    loading = true;
    stale = false;
    try {
      const meanwhile = (followed = []);
      data = await getJson(`${url}/curve?max_points=${detailed ? pointsZoomed : points}`, { signal });
      loadedTo = data.epoch.at(-1) ?? 0;
      loadedAtMs = performance.now();
      meanwhile.forEach(append);
      if (!chart) create();
      else draw();
    } catch (error) {
      if (!signal.aborted) setText(note, `The curve could not be read: ${error.message}`);
    } finally {
      loading = false;
      if (stale && !signal.aborted) load();
    }
  }

  // One more point, from the stream; drawn by draw().
  function epoch(event) {
    followed.push(event);
    append(event);
  }

  function append(event) {
    if (!data || (data.epoch.length && event.epoch <= data.epoch.at(-1))) return;
    data.epoch.push(event.epoch);
    data.elapsed_seconds.push(event.elapsed_seconds);
    data.loss.push(event.loss);
    if (event.error !== null && event.error !== undefined) data.error ??= data.epoch.slice(1).map(() => null);
    data.error?.push(event.error ?? null);
    for (const [name, metric] of [["validation_loss", event.validation?.loss], ["validation_error", event.validation?.error]]) {
      if (metric !== null && metric !== undefined) data[name] ??= data.epoch.slice(1).map(() => null);
      data[name]?.push(metric ?? null);
    }
  }

  log.addEventListener("click", () => {
    log.ariaPressed = log.ariaPressed === "true" ? "false" : "true";
    chart?.setLog("y", log.ariaPressed === "true");
    noteView();
  });
  smoothing.addEventListener("input", () => chart?.setSmoothing(Number(smoothing.value)));
  smoothing.addEventListener("change", noteView); // once it rests: browsers allow few changes a second
  for (const control of [measure, over])
    control.addEventListener("change", () => {
      noteView();
      create();
    });
  reset.addEventListener("click", () => chart?.resetZoom());

  return {
    node,
    epoch,
    draw,
    reload: load,
    // Also without a stream: a job that changed has a longer curve.
    jobChanged(fresh) {
      const first = !job;
      job = fresh;
      const finished = isEnded(job) && !endSeen;
      endSeen = isEnded(job);
      const ahead = job.progress.epoch > loadedTo + job.progress.epochs * refreshShare;
      if (first || finished || (ahead && performance.now() > loadedAtMs + refreshPauseMs)) load();
    },
  };
}
