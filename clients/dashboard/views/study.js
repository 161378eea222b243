// study.js: one device against another, from jobs that share a tag: bars for pairs of jobs that are the
// same but for their device, and seconds an epoch over parameters, where the lines cross.

import { createChart } from "../chart.js";
import { getJson, poll, sendJson } from "../api.js";
import { h, replace, setText } from "../dom.js";
import { integer, isEnded, jobName, number, seconds } from "../format.js";
import { announce } from "../shell.js";
import { crossings, doublingNet, pairs, timed } from "../studies.js";
import { bars } from "../bars.js";

export const title = "Study";

const least = 2, most = 12; // layers: 22 parameters to 11 million
const measures = [
  { word: "Time of an epoch", of: (job) => job.timing.epoch_microseconds / 1e6 },
  { word: "Time of the test", of: (job) => job.timing.test_seconds },
  { word: "Training and test", of: (job) => job.timing.train_seconds + job.timing.test_seconds },
];

export function mount(root, { query }, signal) {
  let tag = query.get("tag") || "study";
  let jobs = [];
  let chosen = null; // of the pairs, by key

  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const tagInput = h("input", { id: "study-tag", value: tag, maxlength: "128" });
  const progress = h("p", { class: "muted", role: "status" });
  const crossing = h("p");
  const chartRoot = h("div");
  const pairSelect = h("select", { id: "study-pair" });
  const groups = h("div", { class: "grid" });
  const pairTable = h("div");
  const lines = h("section", { class: "card", hidden: true }, h("h2", null, "Seconds an epoch over parameters"), crossing, chartRoot);
  const bar = h("section", { class: "card", hidden: true }, h("h2", null, "The same job on each device"),
    h("div", { class: "toolbar" }, h("label", { for: "study-pair" }, "Job"), pairSelect), groups, pairTable);
  const empty = h("p", { class: "notice", hidden: true });
  root.append(
    h("div", { class: "heading" }, h("h1", null, "Study")),
    failure,
    h("section", { class: "card" },
      h("p", null, "Which device trains what faster? A study submits networks that double from layer to layer (2-4-8-…-2, on the disc data) to every device."),
      h("form", { class: "toolbar", onsubmit: retag },
        h("label", { for: "study-tag" }, "Jobs tagged"), tagInput, h("button", { class: "button", type: "submit" }, "Show")),
      submission(() => polled.refresh(), failure, signal, () => tag),
      progress, empty),
    lines, bar);

  const path = () => `/v1/jobs?limit=1000&tag=${encodeURIComponent(tag)}`;
  const chart = createChart(chartRoot, {
    title: "Seconds an epoch over parameters, one line a device",
    x: { label: "Parameters", log: true, format: integer }, y: { label: "Seconds an epoch", log: true, format: seconds }, height: 340, signal,
  });

  function retag(event) {
    event.preventDefault();
    tag = tagInput.value.trim() || "study";
    tagInput.value = tag;
    history.replaceState(null, "", `#/study?tag=${encodeURIComponent(tag)}`);
    polled.move(path());
  }

  function draw() {
    const waiting = jobs.filter((job) => !isEnded(job)).length;
    const failed = jobs.filter((job) => job.status === "failed").length;
    setText(progress, jobs.length ? `${integer(jobs.length)} jobs, ${integer(waiting)} still to end${failed ? `, ${integer(failed)} failed` : ""}.` : "");
    empty.hidden = jobs.length > 0;
    setText(empty, `No job is tagged "${tag}" yet. Submit the study, or tag jobs of your own.`);
    drawLines();
    drawBars();
  }

  function drawLines() {
    const curves = timed(jobs);
    lines.hidden = curves.length === 0;
    if (!curves.length) return;
    chart.setData(curves.map((curve, i) => ({ label: curve.device, x: curve.parameters, y: curve.seconds, index: i, points: true, line: true })));
    const words = crossings(curves).map(({ slower, faster, parameters }) => `${faster} overtakes ${slower} at about ${number(parameters, 2)} parameters.`);
    setText(crossing, words.length ? words.join(" ") : curves.length > 1 ? "The lines do not cross." : `Only ${curves[0].device} has run these: no other device to compare it with.`);
  }

  function drawBars() {
    const found = pairs(jobs);
    bar.hidden = found.length === 0;
    if (!found.length) return;
    if (!found.some((pair) => pair.key === chosen)) chosen = found.at(-1).key;
    replace(pairSelect, found.map((pair) => h("option", { value: pair.key, selected: pair.key === chosen }, `${pair.name}, ${integer(pair.parameters)} parameters`)));
    const pair = found.find((each) => each.key === chosen);
    replace(groups, measures.map(({ word, of }) => bars(`${word} of ${pair.name}`, word, pair.jobs.map((job) => ({ label: job.device, value: of(job) })))));
    replace(pairTable, tableOf(found));
  }

  pairSelect.addEventListener("change", () => {
    chosen = pairSelect.value;
    drawBars();
  });

  const polled = poll(path(), (list) => {
    failure.hidden = true;
    jobs = list.data;
    draw();
  }, {
    signal,
    interval: () => (jobs.some((job) => !isEnded(job)) ? 2000 : 5000),
    onError: (error) => {
      setText(failure, error.message);
      failure.hidden = error.status === 0;
    },
  });
}

function tableOf(found) {
  const head = ["Job", "Parameters", "Device", ...measures.map((measure) => measure.word), "Against the slowest"];
  const rows = found.flatMap((pair) => {
    const slowest = Math.max(...pair.jobs.map(measures[0].of));
    return pair.jobs.map((job) => h("tr", null,
      h("td", null, h("a", { href: `#/jobs/${encodeURIComponent(job.id)}` }, jobName(job))),
      h("td", { class: "number" }, integer(pair.parameters)),
      h("td", null, job.device),
      measures.map(({ of }) => h("td", { class: "number" }, seconds(of(job)))),
      h("td", { class: "number" }, `${number(slowest / measures[0].of(job), 3)} × as fast`)));
  });
  return h("details", { open: true }, h("summary", null, "As a table"),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "The same job on each device" }, h("table", null,
      h("thead", null, h("tr", null, head.map((word, i) => h("th", { scope: "col", class: i === 0 || i === 2 ? null : "number" }, word)))),
      h("tbody", null, rows))));
}

// The form that submits the study; when one job is refused, those before it stay submitted.
function submission(onSubmitted, failure, signal, tag) {
  const field = (id, word, value, min, max) => ({
    input: h("input", { id, type: "number", value, min, max, required: true }),
    get node() {
      return h("div", { class: "field" }, h("label", { for: id }, word), this.input);
    },
  });
  const from = field("study-from", "Layers, from", least, least, most);
  const to = field("study-to", "to", most, least, most);
  const epochs = field("study-epochs", "Epochs", 20, 1, 100000);
  const button = h("button", { class: "button primary", type: "submit" }, "Submit the study");

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    failure.hidden = true;
    let count = 0;
    try {
      const { data } = await getJson("/v1/devices", { signal });
      const devices = data.filter((device) => device.state !== "lost").map((device) => device.id);
      for (let layers = Number(from.input.value); layers <= Number(to.input.value); layers++)
        for (const device of devices) {
          await sendJson("POST", "/v1/jobs", doublingNet(layers, { device, epochs: Number(epochs.input.value), tag: tag() }), { signal });
          count++;
        }
      announce(`${count} jobs were submitted to ${devices.join(" and ")}.`);
    } catch (error) {
      if (signal.aborted) return;
      setText(failure, `${count} jobs were submitted, then: ${error.message}`);
      failure.hidden = false;
    }
    button.disabled = false;
    onSubmitted();
  }

  return h("form", { class: "study-form", onsubmit: submit },
    h("div", { class: "fields" }, from.node, to.node, epochs.node), h("div", { class: "toolbar end" }, button));
}
