// sweep.js: one sweep, polled by its ETag; its charts and its leaderboard are fetched again when it changed.

import { h, replace, setText } from "../../dom.js";
import { getJson, poll, sendJson } from "../../api.js";
import { announce, navigate, setTitle } from "../../shell.js";
import { dateTime, duration, integer, isEnded, jobName, percent, seconds, stateWord, stopWord } from "../../format.js";
import { prettyJson } from "../../json.js";
import { copyButton } from "../../copy.js";
import { setFacts } from "../../facts.js";
import { isStudy } from "../../cells.js";
import { metricOf, metricText, parametersOf, progressOf, valueText } from "../../trials.js";
import { webhooksPanel } from "../jobs/job_webhooks.js";
import { lifecycleButtons } from "../jobs/lifecycle.js";
import { chartPanels } from "./sweep_charts.js";
import { leaderboard } from "./sweep_trials.js";

export const title = "Sweep";

const bestCount = 10; // trials whose curves are compared

export function mount(root, { id }, signal) {
  const url = `/v1/sweeps/${encodeURIComponent(id)}`;
  const heading = h("h1", null, `Sweep …${id.slice(-8)}`);
  const badge = h("span", { class: "badge" });
  const tags = h("span", { class: "tags" });
  const again = h("a", { class: "button", href: `#/submit?sweep=${encodeURIComponent(id)}` }, "Run again");
  const study = h("a", { class: "button", href: `#/studies/${encodeURIComponent(id)}`, hidden: true }, "Study");
  const buttons = lifecycleButtons({ url, kind: "sweep", losing: "trials", list: "#/sweeps", signal, onChange: () => polled.refresh(), onFail: fail });
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const warning = h("p", { class: "notice warning", hidden: true });
  const content = h("div", { hidden: true });
  root.append(h("div", { class: "heading" }, heading, badge, tags, h("div", { class: "toolbar" }, study, again, buttons.nodes)), failure, warning, content);

  const meter = h("progress", { class: "meter large", max: "1", value: "0", "aria-label": "Progress" });
  const progress = h("p", { class: "progress-line" });
  const times = h("dl", { class: "facts columns" });
  const best = h("section", { class: "card", hidden: true, "aria-labelledby": "best-title" });
  const promoteBest = h("button", { type: "button", class: "button", title: "Trains it as a job of its own, which keeps its weights" }, "Promote");
  const curves = h("button", { type: "button", class: "button", title: `Trains the best ${bestCount} as jobs of their own, and compares them` }, `Curves of the best ${bestCount}`);
  const webhooks = webhooksPanel({ url, signal });
  const settings = h("pre", { tabindex: "0", "aria-label": "The sweep's settings, all defaults filled in" });
  const charts = chartPanels({ url, signal });
  const trials = leaderboard({ url, signal, act: buttons.act, promote, onPoint: charts.highlight });
  content.append(
    h("div", { class: "grid sweep-top" }, h("section", { class: "card", "aria-label": "Progress" }, meter, progress, times), best),
    charts.node, trials.node, webhooks.node,
    h("section", { class: "card" },
      h("div", { class: "toolbar" }, h("h2", { class: "grow" }, "Settings"), copyButton(() => settings.textContent)), settings));

  let sweep = null;

  // null: nothing failed
  function fail(error) {
    setText(failure, error?.status === 404 ? "There is no such sweep; it may have been deleted." : error?.message ?? "");
    failure.hidden = !error;
  }

  // The job of a trial; a trial that is told twice keeps its job.
  const promoted = (trial) => sendJson("POST", `${url}/trials/${trial}/promote`, undefined, { signal });

  async function promote(trial) {
    const job = await promoted(trial);
    announce(`Trial ${trial} is a job.`);
    navigate(`#/jobs/${encodeURIComponent(job.id)}`);
  }

  promoteBest.addEventListener("click", () => buttons.act(promoteBest, () => promote(sweep.best.trial)));
  curves.addEventListener("click", () => buttons.act(curves, async () => {
    const { data } = await getJson(`${url}/trials?limit=${bestCount}`, { signal });
    const jobs = [];
    for (const { trial, metric } of data) if (metric !== null) jobs.push(await promoted(trial));
    navigate(`#/compare?jobs=${jobs.map((job) => encodeURIComponent(job.id)).join(",")}&y=${sweep.metric === "train.loss" ? "loss" : "validation_loss"}`);
  }));

  function showProgress() {
    const { fraction, words: count } = progressOf(sweep);
    meter.value = fraction;
    const words = [`${count} ${count === "1" ? "training" : "trainings"} (${percent(fraction, fraction < 1 ? 1 : 0)})`];
    if (sweep.status === "running" && sweep.eta_seconds !== null) words.push(`${duration(sweep.eta_seconds)} left`);
    if (sweep.status === "queued") words.push(sweep.queue_position === null ? "waiting" : `place ${sweep.queue_position} in the queue`);
    setText(progress, words.join(" · "));
    const { spec, timing } = sweep;
    setFacts(times, [
      ["Search", sweep.search],
      ["Metric", `${metricOf(sweep.metric).word}, ${sweep.mode === "max" ? "more" : "less"} is better`],
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
    const { word, format } = metricOf(sweep.metric);
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
    const before = sweep?.status;
    sweep = fresh;
    content.hidden = false;
    failure.hidden = true;
    setTitle(jobName(sweep));
    setText(heading, jobName(sweep));
    badge.dataset.state = sweep.status;
    setText(badge, stateWord(sweep.status));
    replace(tags, (sweep.tags ?? []).map((word) => h("a", { class: "tag", href: `#/sweeps?tag=${encodeURIComponent(word)}` }, word)),
      sweep.pinned && h("span", { class: "tag", title: "The daemon's retention never deletes it" }, "pinned"),
      sweep.visibility === "private" && h("span", { class: "tag", title: "Its owner alone sees it, and admins" }, "private"));
    if (before && before !== sweep.status) announce(`${jobName(sweep)}: ${stateWord(sweep.status)}.`);
    buttons.show(sweep);
    study.hidden = !isStudy(sweep.spec.space);
    setText(warning, sweep.error ? `${sweep.error.message}${sweep.error.pointer ? ` (${sweep.error.pointer})` : ""}` : sweep.warning ?? "");
    warning.classList.toggle("error", !!sweep.error);
    warning.hidden = !warning.textContent;
    showProgress();
    showBest();
    setText(settings, prettyJson(sweep.spec, 110));
    charts.sweepChanged(sweep);
    trials.sweepChanged(sweep);
    webhooks.jobChanged(sweep);
  }, {
    signal,
    interval: (latest) => (latest && isEnded(latest) ? 15000 : 1000),
    onError: (error) => error.status !== 0 && fail(error),
  });
}
