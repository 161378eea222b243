// job.js: one job. Its state is polled by ETag. Its events, followed until it ends, extend the curve at once;
// without a stream the curve is fetched again whenever the job changes.

import { h, replace } from "../../dom.js";
import { download, poll } from "../../api.js";
import { bytes, dateTime, duration, integer, isEnded, number, percent, seconds, startWords, value } from "../../format.js";
import { autoPanel, scoreWords } from "./job_auto.js";
import { checkpointPanel } from "./job_checkpoints.js";
import { curvePanel } from "./job_curve.js";
import { followEvents } from "./job_events.js";
import { foundPanel } from "./job_found.js";
import { layersPanel } from "./job_layers.js";
import { plotsPanel } from "../plots/job_plots.js";
import { predictPanel } from "../predict/job_predict.js";
import { publishButton } from "../models/publish.js";
import { ranksPanel } from "./job_ranks.js";
import { resultPanels } from "./job_results.js";
import { pollInterval, progressCard, settingsCard, submissionHead } from "../submissions/head.js";
import { webhooksPanel } from "../submissions/webhooks.js";

export const title = "Job";

const stops = { early_stopping: "Stopped early", max_seconds: "Stopped at its time limit" };

const formats = [
  ["safetensors", "safetensors"],
  ["npz", "NumPy (.npz)"],
  ["json", "JSON"],
  ["onnx", "ONNX"],
  ["c", "C header", "h"],
  ["c&quantize=int8", "C header, int8", "int8.h"],
];

// ?forecast: what comes next is what the job was made for, and stands first.
export function mount(root, { id, query }, signal) {
  const publish = publishButton({ signal });
  const head = submissionHead(root, { id, kind: "job", losing: "weights", more: publish.nodes, signal, onChange: () => polled.refresh() });
  const { url, act } = head;
  const progress = progressCard();
  const auto = autoPanel();
  const curve = curvePanel({ url, query, signal });
  const found = foundPanel({ id, signal });
  const layers = layersPanel({ signal });
  const ranks = ranksPanel();
  const results = resultPanels({ url, signal });
  const predict = predictPanel({ url, signal });
  const plots = plotsPanel({ url, query, signal, act, decideBy: predict.decideBy });
  const checkpoints = checkpointPanel({ url, signal, act });
  const webhooks = webhooksPanel({ url, signal });
  const settings = settingsCard("job");
  const weights = h("section", { class: "card", hidden: true, "aria-labelledby": "weights-title" });
  const events = h("ol", { class: "events", tabindex: "0", "aria-label": "The newest events" });
  head.content.append(
    progress.node,
    auto.node,
    ...(query.has("forecast") ? [predict.node] : []),
    found.node,
    curve.node,
    layers.node,
    results.node,
    plots.node,
    ...(query.has("forecast") ? [] : [predict.node]),
    ranks.node,
    h("div", { class: "grid" },
      weights,
      h("section", { class: "card" }, h("h2", null, "Events"), events)),
    checkpoints.node,
    webhooks.node,
    settings.node,
  );

  let job = null;
  let follower = null;
  let queue = null;
  let within = null; // the newest report within an epoch
  let starts = null; // seconds until a queued job begins, as the daemon estimates them

  function showProgress() {
    const { epoch, epochs, fraction } = job.progress;
    if (job.spec.find) { // it trains no epochs
      progress.meter.hidden = true;
      progress.setWords([isEnded(job) ? "A learning rate search: it has no epochs and no weights." : "Searching for a learning rate"]);
      return;
    }
    progress.meter.value = job.stopped ? 1 : fraction;
    const words = [job.stopped ? `${stops[job.stopped] ?? `Stopped by ${job.stopped}`} after epoch ${integer(epoch)} of ${integer(epochs)}` : `Epoch ${integer(epoch)} of ${integer(epochs)} (${percent(fraction, fraction < 1 ? 1 : 0)})`];
    if (job.kept) words.push(`kept ${job.kept.reason}`);
    const score = job.status === "succeeded" && scoreWords(job);
    if (score) words.push(score);
    if (within && job.status === "running" && within.epoch > epoch)
      words.push(`batch ${integer(within.batch)} of ${integer(within.batches)} in the next, loss ${number(within.loss, 4)}`);
    if (job.status === "running" && job.eta_seconds !== null) words.push(`${duration(job.eta_seconds)} left`);
    if (job.status === "queued") words.push(job.queue_position === null ? "waiting" : `place ${integer(job.queue_position)} in the queue`, ...(job.queue_reason ? [`Slurm: ${job.queue_reason}`] : []));
    if (job.status === "queued" && value(starts) !== null) words.push(`starts ${startWords(starts)}`);
    progress.setWords(words);
  }

  // While it waits, the queue says when it will start.
  function followQueue(before) {
    if (job.status !== "queued" || before === "queued") return;
    if (queue) return queue.refresh();
    queue = poll("/v1/queue", ({ jobs }) => {
      starts = jobs.find((each) => each.id === id)?.start_seconds ?? null;
      showProgress();
    }, { signal, interval: () => (job.status === "queued" ? 2000 : null) });
  }

  function showFacts() {
    const { model } = job;
    const timing = job.found ? { ...job.timing, epoch_microseconds: null, test_seconds: null, samples_per_second: null } : job.timing;
    progress.setFacts([
      ["Device", job.device],
      ["Executor", job.executor],
      ["Epoch time", timing.epoch_microseconds === null ? null : seconds(timing.epoch_microseconds / 1e6)],
      ["Training time", timing.train_seconds === null ? null : seconds(timing.train_seconds)],
      ["Test time", timing.test_seconds === null ? null : seconds(timing.test_seconds)],
      ["Throughput", timing.samples_per_second === null ? null : `${number(timing.samples_per_second, 4)} rows/s`],
      ["Waited", timing.queued_seconds === null ? null : seconds(timing.queued_seconds)],
      ["Parameters", model ? integer(model.parameters) : null],
      ["Memory", model?.bytes ? bytes(model.bytes) : null],
      ["Energy", timing.energy_joules === null ? null : `${number(timing.energy_joules)} J`],
      ["Owner", job.owner || null],
      ["Priority", job.priority ? String(job.priority) : null],
      ["Attempt", job.attempt > 1 ? String(job.attempt) : null],
      ["Created", dateTime(job.created_at)],
      ["Ended", job.finished_at ? dateTime(job.finished_at) : null],
      ["Id", h("code", null, job.id)],
    ]);
  }

  function showWeights() {
    weights.hidden = !job.weights;
    if (!job.weights || weights.dataset.sha256 === job.weights.sha256) return;
    weights.dataset.sha256 = job.weights.sha256;
    const name = (job.name || job.id).replace(/[^A-Za-z0-9_.-]+/g, "-");
    replace(weights,
      h("h2", { id: "weights-title" }, "Weights"),
      h("div", { class: "toolbar" }, formats.map(([format, word, ending = format]) => {
        const button = h("button", { type: "button", class: "button", "data-format": format }, word);
        button.setAttribute("aria-label", `Download the weights as ${word}`);
        button.addEventListener("click", () => act(button, () => download(`${url}/weights?format=${format}`, `${name}.${ending}`, { signal })));
        return button;
      })),
      h("dl", { class: "facts" },
        h("dt", null, "Size"), h("dd", null, bytes(job.weights.bytes)),
        h("dt", null, "SHA-256"), h("dd", null, h("code", null, job.weights.sha256))));
  }

  function show(fresh) {
    const before = job?.status;
    job = fresh;
    head.show(job);
    showProgress();
    followQueue(before);
    showFacts();
    showWeights();
    settings.show(job.spec);
    auto.jobChanged(job);
    publish.jobChanged(job);
    found.jobChanged(job);
    curve.jobChanged(job);
    results.jobChanged(job);
    plots.jobChanged(job);
    predict.jobChanged(job);
    ranks.jobChanged(job);
    checkpoints.jobChanged(job);
    webhooks.jobChanged(job);
    follow();
  }

  // Once: the stream goes on until the job has ended. Its events update the page between two polls.
  function follow() {
    if (follower) return;
    follower = followEvents({
      url, job, list: events, signal,
      onEpoch: (event) => {
        curve.epoch(event);
        if (isEnded(job) || event.epoch < job.progress.epoch) return;
        job.progress = { epoch: event.epoch, epochs: event.epochs, fraction: event.epochs ? event.epoch / event.epochs : 0 };
        job.eta_seconds = event.eta_seconds;
      },
      onWithin: (event) => {
        within = event;
        job.eta_seconds = event.eta_seconds;
      },
      onLayers: (event) => layers.add(event),
      onBatch: () => {
        if (!isEnded(job)) showProgress();
        curve.draw();
        layers.draw();
      },
      onCheckpoint: () => {
        checkpoints.changed();
        if (job.status === "running") plots.checkpointWritten();
      },
      onChange: () => polled.refresh(),
      onRestart: () => curve.reload(),
    });
  }

  const polled = poll(url, show, {
    signal,
    interval: (latest) => pollInterval(latest, follower?.live ? 3000 : 1000),
    onError: (error) => error.status !== 0 && head.fail(error),
  });
}
