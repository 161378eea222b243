// sweep_trials.js: the leaderboard of a sweep, a page at a time, as the daemon sorts it.

import { h, keyed, replace, setText } from "../../dom.js";
import { download, poll } from "../../api.js";
import { integer, jobName, seconds } from "../../format.js";
import { noteInAddress } from "../../shell.js";
import { spreadsheetSwitch } from "../../spreadsheet.js";
import { metricOf, metricText, parametersOf, valueText } from "../../trials.js";

const pageSize = 50;

const capitalized = (word) => word[0].toUpperCase() + word.slice(1).replaceAll("_", " ");

// promote(trial) leads to its job; act runs a button's request. onPoint(trial or null): the pointer or the focus is on its row.
export function leaderboard({ url, query, signal, act, promote, onPoint }) {
  let sweep = null;
  let polled = null;
  let sort = query.get("sort") === "trial" ? "trial" : "metric";
  let offset = 0;
  let page = null;
  let done = -1; // trainings that the page has

  const head = h("thead");
  const body = h("tbody");
  const empty = h("div", { class: "empty" }, "No trial has ended yet.");
  const count = h("p", { class: "muted count" });
  const earlier = h("button", { type: "button", class: "button", disabled: true, onclick: () => turn(offset - pageSize) }, "Previous");
  const later = h("button", { type: "button", class: "button", disabled: true, onclick: () => turn(page?.next ?? offset) }, "Next");
  const order = h("select", { id: "trials-sort", "aria-label": "Order", onchange: () => {
    sort = order.value;
    noteInAddress({ sort: sort === "metric" ? "" : sort });
    turn(0);
  } }, h("option", { value: "metric" }, "Best first"), h("option", { value: "trial", selected: sort === "trial" }, "By number"));
  const spreadsheet = spreadsheetSwitch();
  const csv = h("button", { type: "button", class: "button", onclick: () => act(csv, () => download(`${url}/trials?format=csv&sort=${sort}${spreadsheet.query()}`, `${jobName(sweep).replace(/[^A-Za-z0-9_.-]+/g, "-")}.csv`, { signal })) }, "Download CSV");
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const table = h("table", { class: "compact anchored trials-table" }, h("caption", { class: "hidden" }, "Trials"), head, body);
  const node = h("section", { class: "card" },
    h("div", { class: "toolbar" }, h("h2", { class: "grow" }, "Leaderboard"), order, spreadsheet.node, csv),
    failure, h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Leaderboard" }, table), empty,
    h("div", { class: "toolbar pager" }, count, earlier, later));

  const path = () => `${url}/trials?sort=${sort}&limit=${pageSize}&offset=${offset}`;

  function turn(to) {
    offset = Math.max(0, to);
    polled?.move(path());
  }

  function row({ trial }) {
    const button = h("button", { type: "button", class: "button small-button", "aria-label": `Promote trial ${trial}`, title: "Trains it as a separate job, which keeps its weights" }, "Promote");
    button.addEventListener("click", () => act(button, () => promote(trial)));
    const line = h("tr", { "data-trial": trial }, h("td", { class: "number" }, button));
    for (const kind of ["mouseenter", "focusin"]) line.addEventListener(kind, () => onPoint(line.trial));
    for (const kind of ["mouseleave", "focusout"]) line.addEventListener(kind, () => onPoint(null));
    return line;
  }

  function update(line, trial) {
    line.trial = trial;
    const text = JSON.stringify(trial);
    if (line.text === text) return;
    line.text = text;
    const cell = (content, kind = "number") => h("td", { class: kind }, content);
    const { format } = metricOf(sweep.metric, sweep.spec.job.data?.positive);
    replace(line,
      cell(integer(trial.rank)),
      cell(integer(trial.trial)),
      cell(metricText(trial, format)),
      parametersOf(sweep.spec.space).map(({ pointer }) => cell(valueText(trial.values[pointer]))),
      cell(integer(trial.epochs)),
      cell(seconds(trial.train_seconds)),
      cell(trial.outcome === "ok" ? "OK" : capitalized(trial.outcome), null),
      line.lastElementChild);
  }

  function show(fresh) {
    page = fresh;
    failure.hidden = true;
    keyed(body, page.data, ({ trial }) => trial, row, update);
    table.hidden = page.data.length === 0;
    empty.hidden = page.data.length > 0;
    setText(count, page.data.length ? `${integer(offset + 1)} to ${integer(offset + page.data.length)} of ${integer(page.total)} trials` : "");
    earlier.disabled = offset === 0;
    later.disabled = !page.has_more;
  }

  function start() {
    const { word } = metricOf(sweep.metric, sweep.spec.job.data?.positive);
    const column = (text, kind, hint) => h("th", { scope: "col", class: kind, title: hint }, text);
    replace(head, h("tr", null, ["Rank", "Trial", word].map((text) => column(text, "number")),
      parametersOf(sweep.spec.space).map(({ pointer, name }) => column(name, "number", pointer)),
      ["Epochs trained", "Time"].map((text) => column(text, "number")), column("Outcome"), column("Job", "number")));
    polled = poll(path(), show, {
      signal,
      interval: null, // when the sweep has changed
      onError: (error) => {
        setText(failure, error.message);
        failure.hidden = error.status === 0;
      },
    });
  }

  return {
    node,
    sweepChanged(fresh) {
      const before = sweep;
      sweep = fresh;
      if (!polled) start();
      else if (sweep.progress.done !== done || sweep.status !== before.status) polled.refresh();
      done = sweep.progress.done;
    },
  };
}
