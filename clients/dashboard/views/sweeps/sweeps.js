// sweeps.js: the list of sweeps, newest first, one page polled by its ETag.

import { attribute, h, keyed, replace, setText } from "../../dom.js";
import { poll } from "../../api.js";
import { announce } from "../../shell.js";
import { age, dateTime, duration, isEnded, jobName, stateNames, stateWord } from "../../format.js";
import { metricOf, metricText, progressOf } from "../../trials.js";

export const title = "Sweeps";

const pageSize = 50;

// The time left, or what is waited for.
function waitWords(sweep) {
  if (sweep.status === "queued") return sweep.queue_position === null ? "waiting" : `place ${sweep.queue_position} in the queue`;
  return sweep.status === "running" && sweep.eta_seconds !== null ? `${duration(sweep.eta_seconds)} left` : "";
}

export function mount(root, { query }, signal) {
  let after = query.get("after") ?? "";
  let next = null;
  let known = null; // id -> status on the page before, to announce changes

  const state = h("select", { id: "state", "aria-label": "State" }, h("option", { value: "" }, "All states"), stateNames.map((word) => h("option", { value: word }, stateWord(word))));
  const tag = h("input", { id: "tag", type: "search", placeholder: "Tag", size: "12", maxlength: "128", "aria-label": "Tag", value: query.get("tag") ?? "" });
  state.value = query.get("state") ?? "";
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const body = h("tbody");
  const head = ["State", "Sweep", "Trainings", "Best", "Device", "Age"];
  const table = h("table", { class: "stack sweeps-table", hidden: true },
    h("caption", { class: "hidden" }, "Sweeps, newest first"),
    h("thead", null, h("tr", null, head.map((word, i) => h("th", { scope: "col", class: i === 5 ? "number" : null }, word)))),
    body);
  const empty = h("div", { class: "empty", hidden: true });
  const newest = h("button", { type: "button", class: "button", hidden: true, onclick: () => ask() }, "Newest");
  const older = h("button", { type: "button", class: "button", hidden: true, onclick: () => next && ask(next) }, "Older");
  root.append(
    h("div", { class: "heading" }, h("h1", null, "Sweeps"), h("div", { class: "toolbar" }, h("a", { class: "button primary", href: "#/submit?example=sweep" }, "New sweep"))),
    h("form", { class: "toolbar filters", role: "search", "aria-label": "Filter the sweeps", onsubmit: (event) => event.preventDefault() }, state, tag),
    failure,
    h("div", { class: "card flush" }, h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Sweeps" }, table), empty),
    h("div", { class: "toolbar pager" }, newest, older));

  const filter = () => {
    const words = new URLSearchParams();
    if (state.value) words.set("state", state.value);
    if (tag.value.trim()) words.set("tag", tag.value.trim());
    if (after) words.set("after", after);
    return words;
  };
  const path = () => `/v1/sweeps?${new URLSearchParams([["limit", String(pageSize)], ...filter()])}`;

  function row() {
    const cells = {
      state: h("td"),
      name: h("td", { class: "wide" }),
      progress: h("td", { class: "progress-cell wide" }),
      best: h("td", { "data-label": "Best" }),
      device: h("td", { "data-label": "Device" }),
      age: h("td", { class: "number", "data-label": "Age" }),
    };
    const line = h("tr", null, Object.values(cells));
    line.cells_ = cells;
    return line;
  }

  function update(line, sweep) {
    const { cells_: cells } = line;
    line.sweep = sweep;
    const text = JSON.stringify(sweep);
    if (line.text === text) return;
    line.text = text;
    const { fraction, words } = progressOf(sweep);
    const { word, format } = metricOf(sweep.metric);
    replace(cells.state, h("span", { class: "badge", "data-state": sweep.status }, stateWord(sweep.status)));
    replace(cells.name,
      h("a", { class: "job-link", href: `#/sweeps/${encodeURIComponent(sweep.id)}`, title: sweep.id }, jobName(sweep)),
      (sweep.tags ?? []).length > 0 && h("span", { class: "tags" }, sweep.tags.map((each) => h("span", { class: "tag" }, each))),
      sweep.error && h("div", { class: "error-line" }, sweep.error.message));
    replace(cells.progress,
      h("progress", { class: "meter", max: "1", value: fraction, "aria-label": `Progress of ${jobName(sweep)}` }),
      h("span", { class: "muted progress-words" }, words, h("span", null, waitWords(sweep))));
    replace(cells.best, sweep.best ? metricText(sweep.best, format) : "–", h("div", { class: "muted small" }, `${word}, ${sweep.search}`));
    setText(cells.device, sweep.device ?? "–");
    attribute(cells.age, "title", dateTime(sweep.created_at));
    setText(cells.age, age(sweep.created_at));
  }

  const polled = poll(path(), ({ data, has_more: more, next: following }) => {
    failure.hidden = true;
    next = more ? following : null;
    const changed = data.filter((sweep) => known?.has(sweep.id) && known.get(sweep.id) !== sweep.status);
    if (changed.length) announce(changed.slice(0, 3).map((sweep) => `${jobName(sweep)}: ${stateWord(sweep.status)}.`).join(" "));
    known = new Map(data.map((sweep) => [sweep.id, sweep.status]));
    keyed(body, data, (sweep) => sweep.id, row, update);
    table.hidden = data.length === 0;
    empty.hidden = data.length > 0;
    if (!data.length)
      replace(empty, state.value || tag.value ? "No sweep here matches." : after ? "There are no older sweeps."
        : ["No sweeps yet. ", h("a", { href: "#/submit?example=sweep" }, "Submit the first one"), ", or any job with a range instead of a number."]);
    older.hidden = !next;
    newest.hidden = !after;
  }, {
    signal,
    interval: (list) => (list?.data.some((sweep) => !isEnded(sweep)) ? 1000 : 3000),
    onError: (error) => {
      setText(failure, error.message);
      failure.hidden = error.status === 0;
    },
  });

  function ask(from = "") {
    after = from;
    known = null;
    const words = filter();
    history.replaceState(null, "", `#/sweeps${words.size ? `?${words}` : ""}`);
    polled.move(path());
  }

  let typing;
  state.addEventListener("change", () => ask());
  tag.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => !signal.aborted && ask(), 300);
  });
  const ages = setInterval(() => {
    for (const line of body.children) setText(line.cells_.age, age(line.sweep.created_at));
  }, 10000);
  signal.addEventListener("abort", () => {
    clearInterval(ages);
    clearTimeout(typing);
  });
}
