// submit_check.js: the daemon's check of a job or a sweep that is not queued: its faults, or its shapes,
// parameters, bytes, and estimated seconds per device; of a sweep its trials.

import { h, replace, setText } from "../../dom.js";
import { ApiError, sendJson } from "../../api.js";
import { announce } from "../../shell.js";
import { bytes, integer, seconds } from "../../format.js";
import { worded } from "../../options.js";
import { ranksWords, waitWords } from "../jobs/job_ranks.js";

const shape = (layer, way) => {
  const full = layer[`${way}_shape`];
  return Array.isArray(full) ? full.join(" × ") : integer(layer[`${way}_features`]);
};

const fact = (term, what) => [h("dt", null, term), h("dd", null, what)];
const rowWords = ({ train, validation, test }) => `${integer(train)} to train on, ${integer(validation)} for validation, ${integer(test)} for the test`;

export function checkPanel({ signal, onPlace, onErrors, onDefaults }) {
  const state = h("p", { class: "check-state" });
  const faults = h("ul", { class: "faults" });
  const warnings = h("p", { class: "notice warning", hidden: true });
  const chosen = h("p", { class: "notice", hidden: true }); // what the daemon chose
  const facts = h("dl", { class: "facts" });
  const layers = h("details", { class: "plot-table" });
  const node = h("div", { class: "check-panel" }, state, faults, warnings, chosen, facts, layers);
  let pending = null;
  let announced = "";

  function mark(kind, text) {
    state.dataset.state = kind;
    setText(state, text);
    if (text !== announced && kind !== "checking") announce(text);
    if (kind !== "checking") announced = text;
  }

  // What a check says in words; nothing else has any.
  function tell({ warnings: lines = [], auto } = {}) {
    setText(warnings, worded(lines.join("\n")));
    warnings.hidden = !lines.length;
    setText(chosen, [auto?.summary, auto?.hint].filter(Boolean).join(" "));
    chosen.hidden = !chosen.textContent;
  }

  function empty() {
    tell();
    replace(facts);
    replace(layers);
    layers.hidden = true;
  }

  function show(error) {
    const errors = error.errors?.length ? error.errors : [{ pointer: "", detail: error.message }];
    mark("refused", errors.length === 1 ? "One fault" : `${errors.length} errors`);
    replace(faults, errors.map(({ pointer, detail }) => h("li", null,
      pointer && [h("button", { type: "button", class: "pointer", title: "Show it in the JSON", onclick: () => onPlace(pointer) }, pointer), " "],
      detail)));
    empty();
    onErrors(errors);
  }

  function accept(checked) {
    mark("good", "Valid");
    replace(faults);
    onErrors([]);
    onDefaults(checked.spec);
    if (checked.trainings === undefined) showJob(checked);
    else showSweep(checked);
    tell(checked);
  }

  function showSweep(checked) {
    const estimates = Object.entries(checked.estimated_seconds).filter(([, time]) => time !== null);
    empty();
    replace(facts,
      fact("Rows", rowWords(checked.rows)),
      fact("Parameters", `${integer(checked.parameters)} in the first trial`),
      fact("Memory", `${bytes(checked.bytes)} in the first trial`),
      fact("Trials", integer(checked.trials)),
      fact("Trainings", integer(checked.trainings)),
      estimates.map(([kind, time]) => fact(`On ${kind}`, `about ${seconds(time)}, one after another`)));
  }

  function showJob(checked) {
    replace(facts,
      fact("Rows", rowWords(checked.rows)),
      fact("Parameters", integer(checked.parameters)),
      fact("Memory", bytes(checked.bytes)),
      checked.parallel && fact("Ranks", [`${ranksWords(checked.parallel)}. `, checked.parallel.note ?? waitWords(checked.parallel)]),
      checked.estimates.map(({ device, executor, seconds: time }) => fact(`On ${device}`, `about ${seconds(time)} (${executor})`)));
    const wasOpen = layers.open;
    layers.hidden = false;
    replace(layers, h("summary", null, `Shapes of ${checked.layers.length} layers`),
      h("div", { class: "network", tabindex: "0", role: "region", "aria-label": "Drawing of the network" },
        h("img", { class: "plot-picture", alt: "The layers and what each of them reads", src: `data:image/svg+xml,${encodeURIComponent(checked.drawing)}` })),
      h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Shapes of the layers" }, h("table", { class: "compact" },
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Layer"), ["In", "Out", "Parameters"].map((word) => h("th", { scope: "col", class: "number" }, word)))),
        h("tbody", null, checked.layers.map((layer, i) => h("tr", null, h("td", null, `${i} ${layer.type}${layer.name === String(i) ? "" : ` ${layer.name}`}`),
          h("td", { class: "number" }, shape(layer, "in")), h("td", { class: "number" }, shape(layer, "out")), h("td", { class: "number" }, integer(layer.parameters))))))));
    layers.open = wasOpen;
  }

  empty();
  return {
    node,
    show,
    unreadable() {
      pending?.abort();
      mark("refused", "The JSON cannot be read");
      replace(faults);
      empty();
    },
    // Sends the text to a path that validates it. The newest counts; a response to an older one is dropped.
    async check(path, text) {
      pending?.abort();
      const mine = (pending = new AbortController());
      signal.addEventListener("abort", () => mine.abort(), { once: true, signal: mine.signal });
      mark("checking", "Checking");
      try {
        const checked = await sendJson("POST", path, text, { signal: mine.signal });
        if (!mine.signal.aborted) accept(checked);
      } catch (error) {
        if (mine.signal.aborted || signal.aborted) return;
        if (error instanceof ApiError && error.status) show(error);
        else mark("refused", error.message);
      }
    },
  };
}
