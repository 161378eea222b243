// jobs.js: the list of jobs: filter, search, group, page, pick some to compare, cancel or delete. One page is polled by
// its ETag; a row is touched only when its job has changed. The address has the view: filters, order, groups and picks.

import { attribute, h, keyed, replace, setText } from "../../dom.js";
import { getJson, poll } from "../../api.js";
import { announce, navigate } from "../../shell.js";
import { age, dateTime, duration, integer, isEnded, jobName, number, seconds, stateNames, stateWord, tagWord } from "../../format.js";
import { groupings, inGroups, inOrder, leadingWords, lossOf, orders, trainedSeconds } from "../../job_order.js";
import { limits } from "../../vocabulary.js";
import { datasetLink } from "../data/datasets.js";
import { startPanel } from "../data/start.js";
import { bulkButtons } from "./jobs_bulk.js";

export const title = "Jobs";

const pageSizes = [50, 200, 1000];
const mostCompared = limits.comparedJobs;
const mostNoted = 100; // picks in the address
const rowsAtOnce = 120; // a long page is built in steps, each too short to notice

// The time left, or why there is none.
function waitWords(job) {
  const { epoch, epochs } = job.progress;
  if (job.status === "succeeded") return epoch > 0 && epoch < epochs ? "stopped early" : "";
  if (job.status === "queued") return job.queue_position === null ? "waiting" : `place ${integer(job.queue_position)}`;
  if (job.status === "running") return job.eta_seconds === null ? "" : `${duration(job.eta_seconds)} left`;
  return "";
}

function lossWords(job) {
  const train = lossOf(job);
  const validation = job.metrics?.validation?.loss;
  if (train === null) return "–";
  return validation === null || validation === undefined ? number(train) : `${number(train)} / ${number(validation)}`;
}

export function mount(root, { query }, signal) {
  const picked = new Map(); // id -> the job as it was seen last, also of other pages
  let page = [];
  let known = null; // id -> status on the page before, to announce changes
  let next = null;
  let built = rowsAtOnce;
  let start = null; // shown where there is no job at all

  const filters = h("form", { class: "toolbar filters", role: "search", "aria-label": "Filter the jobs" });
  const state = h("select", { id: "state", name: "state" }, h("option", { value: "" }, "All states"), stateNames.map((word) => h("option", { value: word }, stateWord(word))));
  const tag = h("input", { id: "tag", name: "tag", type: "search", placeholder: "Tag", size: "12", maxlength: "128", "aria-label": "Tag" });
  const text = h("input", { id: "q", name: "q", type: "search", placeholder: "Name, dataset, tag or id", size: "26", maxlength: "128", "aria-label": "Search all jobs" });
  const limit = h("select", { id: "limit", name: "limit", "aria-label": "Jobs on a page" }, pageSizes.map((size) => h("option", { value: size }, `${integer(size)} on a page`)));
  state.setAttribute("aria-label", "State");
  state.value = query.get("state") ?? "";
  tag.value = query.get("tag") ?? "";
  text.value = query.get("q") ?? "";
  limit.value = query.get("limit") ?? "50";
  if (!limit.value) limit.value = "50";
  const group = h("select", { id: "group", name: "group", "aria-label": "Groups" }, h("option", { value: "" }, "No groups"), Object.keys(groupings).map((word) => h("option", { value: word }, `By ${word}`)));
  group.value = Object.hasOwn(groupings, query.get("group") ?? "") ? query.get("group") : "";
  filters.append(state, tag, text, group, limit);

  const compare = h("button", { type: "button", class: "button", disabled: true }, "Compare");
  const bulk = bulkButtons({ signal, onDone: (failed) => {
    picked.clear();
    for (const job of failed) picked.set(job.id, job);
    polled.refresh();
    picksChanged();
  } });
  const clear = h("button", { type: "button", class: "button quiet", hidden: true }, "Clear selection");
  const all = h("input", { type: "checkbox", "aria-label": "Select all shown" });
  const numbers = ["Loss", "Duration", "Age"];
  const heads = orders.map((word) => h("th", { scope: "col", class: numbers.includes(word) ? "number" : null },
    h("button", { type: "button", class: "sort", title: word === "Loss" ? "Training / validation" : null, onclick: () => reorder(word) }, word)));
  const body = h("tbody");
  const empty = h("div", { class: "empty", hidden: true });
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const table = h("table", { class: "stack jobs-table" },
    h("caption", { class: "hidden" }, "Jobs, newest first"),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, all), heads)),
    body);
  const count = h("p", { class: "muted count" });
  const newest = h("button", { type: "button", class: "button", hidden: true }, "Newest");
  const older = h("button", { type: "button", class: "button", hidden: true }, "Older");
  root.append(
    h("div", { class: "heading" }, h("h1", null, "Jobs"), h("div", { class: "toolbar" }, clear, compare, bulk.nodes, h("a", { class: "button primary", href: "#/submit?new=job" }, "New job"))),
    filters,
    failure,
    bulk.outcome,
    h("div", { class: "card flush" }, h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Jobs" }, table), empty),
    h("div", { class: "toolbar pager" }, count, newest, older),
  );

  let after = query.get("after") ?? "";
  let order = query.get("sort") ?? ""; // of this page's jobs

  // A column's button: upwards, downwards, newest first again.
  function reorder(word) {
    order = order === word ? `-${word}` : order === `-${word}` ? "" : word;
    note();
    show();
  }

  function showOrder() {
    heads.forEach((head, i) => attribute(head, "aria-sort", order === orders[i] ? "ascending" : order === `-${orders[i]}` ? "descending" : null));
  }

  function path() {
    const q = new URLSearchParams({ view: "summary", limit: limit.value });
    if (state.value) q.set("state", state.value);
    for (const word of tag.value.split(",").map((t) => t.trim()).filter(Boolean)) q.append("tag", word);
    if (text.value.trim()) q.set("search", text.value.trim());
    if (after) q.set("after", after);
    return `/v1/jobs?${q}`;
  }

  // The filters stand in the address, so that a view can be shared and comes back with "Back".
  function note() {
    const q = new URLSearchParams();
    for (const [name, value] of [["state", state.value], ["tag", tag.value], ["q", text.value], ["after", after], ["sort", order], ["group", group.value], ["picked", [...picked.keys()].slice(0, mostNoted).join()]]) if (value) q.set(name, value);
    if (limit.value !== "50") q.set("limit", limit.value);
    history.replaceState(null, "", `#/jobs${q.size ? `?${q}` : ""}`);
  }

  function row(job) {
    const box = h("input", { type: "checkbox", onchange: () => pick(line.job, box.checked) });
    const cells = {
      box,
      pick: h("td", { class: "pick" }, box),
      state: h("td", { class: "job-state" }),
      name: h("td", { class: "job-name" }),
      data: h("td", { "data-label": "Data" }),
      progress: h("td", { class: "progress-cell" }),
      loss: h("td", { class: "number", "data-label": "Loss" }),
      test: h("td", { "data-label": "Test" }),
      time: h("td", { class: "number", "data-label": "Duration" }),
      device: h("td", { "data-label": "Device" }),
      age: h("td", { class: "number", "data-label": "Age" }),
    };
    const line = h("tr", null, cells.pick, cells.state, cells.name, cells.data, cells.progress, cells.loss, cells.test, cells.time, cells.device, cells.age);
    line.cells_ = cells;
    return line;
  }

  function update(line, job) {
    const cells = line.cells_;
    if (cells.box.checked !== picked.has(job.id)) cells.box.checked = picked.has(job.id);
    if (line.job === job) return;
    const text_ = JSON.stringify(job);
    const same = line.text === text_;
    line.job = job;
    if (same) return;
    line.text = text_;
    attribute(cells.box, "aria-label", `Select ${jobName(job)}`);
    replace(cells.state, h("span", { class: "badge", "data-state": job.status }, stateWord(job.status)));
    replace(cells.name,
      h("a", { class: "job-link", href: `#/jobs/${encodeURIComponent(job.id)}`, title: job.id }, jobName(job)),
      (job.tags ?? []).length > 0 && h("span", { class: "tags" }, job.tags.map((word) => h("button", { type: "button", class: "tag", title: `Only jobs tagged ${word}`, onclick: () => only(word) }, tagWord(word)))),
      job.owner && h("span", { class: "muted owner" }, ` ${job.owner}`),
      job.visibility === "private" && h("span", { class: "muted", title: "Visible only to its owner and admins" }, " private"),
      job.error && h("div", { class: "error-line" }, job.error.message));
    replace(cells.data, job.dataset ? h("a", { href: datasetLink(job.dataset) }, job.dataset) : "–");
    replace(cells.progress,
      h("progress", { class: "meter", max: "1", value: job.status === "succeeded" ? 1 : job.progress.fraction, "aria-label": `Progress of ${jobName(job)}` }),
      h("span", { class: "muted progress-words" }, `${integer(job.progress.epoch)} of ${integer(job.progress.epochs)}`, h("span", null, waitWords(job))));
    setText(cells.loss, lossWords(job));
    setText(cells.test, leadingWords(job));
    setText(cells.time, seconds(trainedSeconds(job)));
    replace(cells.device, job.device ?? "–", job.executor && h("div", { class: "muted small" }, job.executor.replace(`${job.device}/`, "")));
    attribute(cells.age, "title", dateTime(job.created_at));
    setText(cells.age, age(job.created_at));
  }

  function pick(job, on) {
    if (on) picked.set(job.id, job);
    else picked.delete(job.id);
    picksChanged();
  }

  function picksChanged() {
    note();
    show();
  }

  // A group's row: its name, and a box that picks its jobs.
  function groupRow() {
    const box = h("input", { type: "checkbox", onchange: () => {
      for (const job of line.group.jobs) (box.checked ? picked.set(job.id, job) : picked.delete(job.id));
      picksChanged();
    } });
    const name = h("th", { colspan: "9", scope: "rowgroup" });
    const line = h("tr", { class: "group" }, h("td", { class: "pick" }, box), name);
    line.update_ = () => {
      const { label, jobs, best } = line.group;
      const count = jobs.filter(({ id }) => picked.has(id)).length;
      const word = label ?? `Without a ${group.value}`;
      box.checked = count === jobs.length;
      box.indeterminate = count > 0 && !box.checked;
      attribute(box, "aria-label", `Select all of ${word}`);
      replace(name, word, h("span", { class: "muted" }, `${integer(jobs.length)} ${jobs.length === 1 ? "job" : "jobs"}${best ? `, the best ${leadingWords(best)}` : ""}`));
    };
    return line;
  }

  // Jobs, or groups with their jobs behind them.
  function linesOf(jobs) {
    return group.value ? inGroups(jobs, group.value).flatMap((each) => [each, ...each.jobs]) : jobs;
  }

  function showPicked() {
    setText(compare, picked.size ? `Compare ${picked.size}` : "Compare");
    compare.disabled = picked.size < 2 || picked.size > mostCompared;
    attribute(compare, "title", picked.size > mostCompared ? `At most ${mostCompared} jobs` : picked.size < 2 ? "Select two jobs or more" : null);
    clear.hidden = picked.size === 0;
    bulk.show([...picked.values()]);
    all.checked = page.length > 0 && page.every((job) => picked.has(job.id));
    all.indeterminate = !all.checked && page.some((job) => picked.has(job.id));
  }

  function grow() {
    if (signal.aborted || built >= page.length) return;
    built += rowsAtOnce;
    show();
    setTimeout(grow, 0);
  }

  function show() {
    showOrder();
    keyed(body, linesOf(inOrder(page, order).slice(0, built)), (item) => item.id ?? `${group.value}:${item.label}`, (item) => (item.id ? row(item) : groupRow()), (line, item) => {
      if (item.id) return update(line, item);
      line.group = item;
      line.update_();
    });
    table.hidden = page.length === 0;
    empty.hidden = page.length > 0;
    const filtered = state.value || tag.value || text.value.trim();
    const isStart = !page.length && !filtered && !after;
    filters.hidden = compare.hidden = isStart;
    if (isStart) replace(empty, (start ??= startPanel({ signal })));
    else if (!page.length) replace(empty, filtered ? (after ? "No older job matches." : "No job matches.") : "There are no older jobs.");
    setText(count, page.length ? `${integer(page.length)} ${page.length === 1 ? "job" : "jobs"} on this page${next ? ", older ones exist" : ""}` : "");
    older.hidden = !next;
    newest.hidden = !after;
    showPicked();
  }

  function tell() {
    const changed = page.filter((job) => known?.has(job.id) && known.get(job.id) !== job.status);
    if (changed.length > 3) announce(`${changed.length} jobs changed their state.`);
    else if (changed.length) announce(changed.map((job) => `${jobName(job)}: ${stateWord(job.status)}.`).join(" "));
    known = new Map(page.map((job) => [job.id, job.status]));
  }

  const polled = poll(path(), (list) => {
    failure.hidden = true;
    page = list.data;
    next = list.has_more ? list.next : null;
    for (const job of page) if (picked.has(job.id)) picked.set(job.id, job);
    tell();
    show();
    setTimeout(grow, 0);
  }, {
    signal,
    interval: () => (page.some((job) => !isEnded(job)) ? 1000 : 3000),
    onError: (error) => {
      if (error.status === 0) return;
      setText(failure, error.message);
      failure.hidden = false;
    },
  });

  function ask(from = "") {
    after = from;
    known = null;
    built = rowsAtOnce;
    note();
    polled.move(path());
  }

  function only(word) {
    tag.value = word;
    ask();
  }

  // What was picked when the address was copied.
  for (const id of (query.get("picked") ?? "").split(",").filter(Boolean).slice(0, mostNoted))
    getJson(`/v1/jobs/${encodeURIComponent(id)}`, { signal }).then((job) => {
      picked.set(job.id, picked.get(job.id) ?? job);
      show();
    }, () => {}); // it is gone

  let typing;
  filters.addEventListener("submit", (event) => event.preventDefault());
  group.addEventListener("change", picksChanged);
  for (const control of [state, limit]) control.addEventListener("change", () => ask());
  for (const control of [tag, text])
    control.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => !signal.aborted && ask(), 300);
    });
  older.addEventListener("click", () => next && ask(next));
  newest.addEventListener("click", () => ask());
  clear.addEventListener("click", () => {
    picked.clear();
    picksChanged();
  });
  all.addEventListener("change", () => {
    for (const job of page) {
      if (all.checked) picked.set(job.id, job);
      else picked.delete(job.id);
    }
    picksChanged();
  });
  compare.addEventListener("click", () => navigate(`#/compare?jobs=${[...picked.keys()].map(encodeURIComponent).join(",")}`));

  const ages = setInterval(() => {
    for (const { cells_: cells, job } of body.children) if (job) setText(cells.age, age(job.created_at));
  }, 10000);
  signal.addEventListener("abort", () => {
    clearInterval(ages);
    clearTimeout(typing);
  });
}
