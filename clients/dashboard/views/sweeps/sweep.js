// sweep.js: one sweep, polled by its ETag; its charts and its leaderboard are fetched again when it changed.

import { h, replace, setText } from "../../dom.js";
import { getJson, poll, sendJson } from "../../api.js";
import { announce, navigate } from "../../shell.js";
import { dateTime, duration, integer, isEnded, percent, seconds, stopWord } from "../../format.js";
import { setFacts } from "../../facts.js";
import { isStudy } from "../../cells.js";
import { metricOf, metricText, parametersOf, progressOf, valueText } from "../../trials.js";
import { pollInterval, progressCard, settingsCard, submissionHead } from "../submissions/head.js";
import { webhooksPanel } from "../submissions/webhooks.js";
import { chartPanels } from "./sweep_charts.js";
import { leaderboard } from "./sweep_trials.js";

export const title = "Sweep";

const bestCount = 10; // trials whose curves are compared

export function mount(root, { id, query }, signal) {
  const study = h("a", { class: "button", href: `#/studies/${encodeURIComponent(id)}`, hidden: true }, "Study");
  const head = submissionHead(root, { id, kind: "sweep", losing: "trials", more: study, signal, onChange: () => polled.refresh() });
  const { url, act } = head;
  const progress = progressCard();
  const chosen = h("p", { class: "notice", hidden: true }); // what the daemon chose
  const best = h("section", { class: "card", hidden: true, "aria-labelledby": "best-title" });
  const promoteBest = h("button", { type: "button", class: "button", title: "Trains it as a separate job, which keeps its weights" }, "Promote");
  const curves = h("button", { type: "button", class: "button", title: `Trains the best ${bestCount} as separate jobs, and compares them` }, `Train the best ${bestCount} for curves`);
  const webhooks = webhooksPanel({ url, signal });
  const settings = settingsCard("sweep");
  const charts = chartPanels({ url, query, signal });
  const trials = leaderboard({ url, query, signal, act, promote, onPoint: charts.highlight });
  head.content.append(chosen, h("div", { class: "grid sweep-top" }, progress.node, best), charts.node, trials.node, webhooks.node, settings.node);

  let sweep = null;

  // The job of a trial; a trial that is told twice keeps its job.
  const promoted = (trial) => sendJson("POST", `${url}/trials/${trial}/promote`, undefined, { signal });

  async function promote(trial) {
    const job = await promoted(trial);
    announce(`Trial ${trial} is a job.`);
    navigate(`#/jobs/${encodeURIComponent(job.id)}`);
  }

  promoteBest.addEventListener("click", () => act(promoteBest, () => promote(sweep.best.trial)));
  curves.addEventListener("click", () => act(curves, async () => {
    const { data } = await getJson(`${url}/trials?limit=${bestCount}`, { signal });
    const jobs = [];
    for (const { trial, metric } of data) if (metric !== null) jobs.push(await promoted(trial));
    navigate(`#/compare?jobs=${jobs.map((job) => encodeURIComponent(job.id)).join(",")}&y=${sweep.metric === "train.loss" ? "loss" : "validation_loss"}`);
  }));

  function showProgress() {
    const { fraction, words: count } = progressOf(sweep);
    progress.meter.value = fraction;
    const words = [`${count} ${count === "1" ? "training" : "trainings"} (${percent(fraction, fraction < 1 ? 1 : 0)})`];
    if (sweep.status === "running" && sweep.eta_seconds !== null) words.push(`${duration(sweep.eta_seconds)} left`);
    if (sweep.status === "queued") words.push(sweep.queue_position === null ? "waiting" : `place ${sweep.queue_position} in the queue`);
    progress.setWords(words);
    const { spec, timing } = sweep;
    progress.setFacts([
      ["Search", sweep.search],
      ["Metric", `${metricOf(sweep.metric, sweep.spec.job.data?.positive).word}, ${sweep.mode === "max" ? "more" : "less"} is better`],
      ["Parameters", integer(Object.keys(spec.space).length)],
      ["Folds", spec.folds ? integer(spec.folds) : null],
      ["Repeats", spec.repeats?.seeds ? integer(spec.repeats.seeds.length) : spec.repeats > 1 ? integer(spec.repeats) : null],
      ["Device", sweep.device],
      ["Workers", sweep.workers > 1 ? integer(sweep.workers) : null],
      ["Executor", sweep.executor],
      ["Training time", timing.train_seconds === null ? null : seconds(timing.train_seconds)],
      ["Waited", timing.queued_seconds === null ? null : seconds(timing.queued_seconds)],
      ["Priority", sweep.priority ? String(sweep.priority) : null],
      ["Stopped by", sweep.stopped ? stopWord(sweep.stopped) : null],
      ["Attempt", sweep.attempt > 1 ? String(sweep.attempt) : null],
      ["Created", dateTime(sweep.created_at)],
      ["Ended", sweep.finished_at ? dateTime(sweep.finished_at) : null],
      ["Promoted", h("a", { href: `#/jobs?tag=${encodeURIComponent(sweep.id)}` }, "Its jobs")],
      ["Id", h("code", null, sweep.id)],
    ]);
  }

  function showBest() {
    best.hidden = !sweep.best;
    if (!sweep.best) return;
    const bestWords = `${isEnded(sweep) ? "The best" : "The best so far"}: trial ${integer(sweep.best.trial)}`;
    const text = bestWords + JSON.stringify(sweep.best);
    if (best.text === text) return;
    best.text = text;
    const { word, format } = metricOf(sweep.metric, sweep.spec.job.data?.positive);
    const facts = h("dl", { class: "facts columns" });
    setFacts(facts, [
      [word, metricText(sweep.best, format)],
      ...parametersOf(sweep.spec.space).map(({ pointer, name }) => [name, valueText(sweep.best.values[pointer])]),
    ]);
    replace(best,
      h("div", { class: "toolbar" }, h("h2", { class: "grow", id: "best-title" }, bestWords), promoteBest, curves),
      facts);
  }

  const polled = poll(url, (fresh) => {
    sweep = fresh;
    head.show(sweep);
    setText(chosen, [sweep.auto?.summary, sweep.auto?.hint].filter(Boolean).join(" "));
    chosen.hidden = !chosen.textContent;
    study.hidden = !isStudy(sweep.spec.space);
    showProgress();
    showBest();
    settings.show(sweep.spec);
    charts.sweepChanged(sweep);
    trials.sweepChanged(sweep);
    webhooks.jobChanged(sweep);
  }, {
    signal,
    interval: pollInterval,
    onError: (error) => error.status !== 0 && head.fail(error),
  });
}
