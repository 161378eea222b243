// study.js: one study: a sweep whose fields all have lists, as a table of cells and the pictures of them.

import { h, replace, setText } from "../../dom.js";
import { getJson, poll } from "../../api.js";
import { announce, setTitle } from "../../shell.js";
import { duration, isEnded, jobName, percent, stateWord } from "../../format.js";
import { setFacts } from "../../facts.js";
import { axesOf, cellsOf, controlsOf, csvOf, extentWords } from "../../cells.js";
import { harmless, spreadsheetSwitch } from "../../spreadsheet.js";
import { progressOf } from "../../trials.js";
import { cellsTable, studyPanels } from "./study_charts.js";

export const title = "Study";

const refreshPauseMs = 1500; // between two studies of a sweep that runs

// Saves a text as a file.
function save(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

export function mount(root, { id }, signal) {
  const url = `/v1/sweeps/${encodeURIComponent(id)}`;
  const heading = h("h1", null, `Study …${id.slice(-8)}`);
  const badge = h("span", { class: "badge" });
  const spreadsheet = spreadsheetSwitch();
  const csv = h("button", { type: "button", class: "button", disabled: true, onclick: () => save(csvOf(study, axes, cells, spreadsheet.on() ? harmless : String), `${jobName(sweep).replace(/[^A-Za-z0-9_.-]+/g, "-")}.csv`) }, "Download CSV");
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const extent = h("p");
  const meter = h("progress", { class: "meter large", max: "1", value: "0", "aria-label": "Progress" });
  const progress = h("p", { class: "progress-line" });
  const running = h("div", { hidden: true }, meter, progress);
  const panels = studyPanels({ signal });
  const table = h("div");
  const controls = h("dl", { class: "facts columns" });
  const rest = h("div", { hidden: true },
    h("section", { class: "card", "aria-labelledby": "study-cells" }, h("h2", { id: "study-cells" }, "Cells"), table),
    h("section", { class: "card", "aria-labelledby": "study-controls" }, h("h2", { id: "study-controls" }, "What does not vary"), controls));
  root.append(
    h("div", { class: "heading" }, heading, badge, h("div", { class: "toolbar" }, spreadsheet.node, csv, h("a", { class: "button", href: `#/sweeps/${encodeURIComponent(id)}` }, "Its sweep"))),
    failure, running, h("div", { class: "study-picture" }, extent, panels.node), rest);

  let sweep = null;
  let study = null;
  let axes = [];
  let cells = [];
  let done = -1; // trainings that the study has
  let timer = null;
  let loading = false;

  function fail(error) {
    setText(failure, error.status === 404 ? "Sweep not found; it may have been deleted." : error.message);
    failure.hidden = error.status === 0;
  }

  async function load() {
    timer = null;
    loading = true;
    done = sweep.progress.done;
    try {
      study = await getJson(`${url}/study`, { signal });
      if (signal.aborted) return;
      axes = axesOf(sweep.spec.space, study.axes);
      cells = cellsOf(axes, study.cells);
      setText(extent, extentWords(study, axes));
      csv.disabled = rest.hidden = cells.length === 0;
      if (!cells.length) return;
      panels.setStudy(study, axes, cells);
      replace(table, cellsTable(study, axes, cells));
      setFacts(controls, controlsOf(study.controls, axes));
    } catch (error) {
      if (!signal.aborted) fail(error);
    } finally {
      loading = false;
      later();
    }
  }

  function later() {
    if (signal.aborted || loading || timer !== null || sweep.progress.done === done) return;
    timer = setTimeout(load, done < 0 || isEnded(sweep) ? 0 : refreshPauseMs);
  }

  signal.addEventListener("abort", () => clearTimeout(timer));
  poll(url, (fresh) => {
    const before = sweep?.status;
    sweep = fresh;
    setTitle(jobName(sweep));
    setText(heading, jobName(sweep));
    badge.dataset.state = sweep.status;
    setText(badge, stateWord(sweep.status));
    if (before && before !== sweep.status) announce(`${jobName(sweep)}: ${stateWord(sweep.status)}.`);
    const { fraction, words } = progressOf(sweep);
    running.hidden = isEnded(sweep);
    meter.value = fraction;
    setText(progress, `${words} trainings (${percent(fraction)})${sweep.status === "running" && sweep.eta_seconds !== null ? ` · ${duration(sweep.eta_seconds)} left` : ""}`);
    later();
  }, { signal, interval: (latest) => (latest && isEnded(latest) ? 15000 : 1000), onError: fail });
}
