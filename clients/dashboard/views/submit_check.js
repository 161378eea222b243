// submit_check.js: what the daemon says of a job before it is queued: its faults, or its shapes,
// parameters, bytes and how long it would take where.

import { h, replace, setText } from "../dom.js";
import { ApiError, sendJson } from "../api.js";
import { announce } from "../shell.js";
import { bytes, integer, seconds } from "../format.js";

const shape = (layer, way) => {
  const full = layer[`${way}_shape`];
  return Array.isArray(full) ? full.join(" × ") : integer(layer[`${way}_features`]);
};

export function checkPanel({ signal, onPlace, onErrors, onDefaults }) {
  const state = h("p", { class: "check-state" });
  const faults = h("ul", { class: "faults" });
  const facts = h("dl", { class: "facts" });
  const layers = h("details", { class: "plot-table" });
  const node = h("div", { class: "check-panel" }, state, faults, facts, layers);
  let asked = null;
  let said = "";

  function mark(kind, text) {
    state.dataset.state = kind;
    setText(state, text);
    if (text !== said && kind !== "checking") announce(text);
    if (kind !== "checking") said = text;
  }

  function empty() {
    replace(facts);
    replace(layers);
    layers.hidden = true;
  }

  function show(error) {
    const errors = error.errors?.length ? error.errors : [{ pointer: "", detail: error.message }];
    mark("refused", errors.length === 1 ? "One fault" : `${errors.length} faults`);
    replace(faults, errors.map(({ pointer, detail }) => h("li", null,
      pointer && [h("button", { type: "button", class: "pointer", title: "Show it in the JSON", onclick: () => onPlace(pointer) }, pointer), " "],
      detail)));
    empty();
    onErrors(errors);
  }

  function accept(answer) {
    mark("good", "Valid");
    replace(faults);
    onErrors([]);
    onDefaults(answer.spec);
    const { rows } = answer;
    const fact = (term, what) => [h("dt", null, term), h("dd", null, what)];
    replace(facts,
      fact("Rows", `${integer(rows.train)} to train on, ${integer(rows.validation)} for validation, ${integer(rows.test)} for the test`),
      fact("Parameters", integer(answer.parameters)),
      fact("Memory", bytes(answer.bytes)),
      answer.estimates.map(({ device, executor, seconds: time }) => fact(`On ${device}`, `about ${seconds(time)} (${executor})`)));
    const wasOpen = layers.open;
    layers.hidden = false;
    replace(layers, h("summary", null, `Shapes of ${answer.layers.length} layers`),
      h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Shapes of the layers" }, h("table", { class: "compact" },
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Layer"), ["In", "Out", "Parameters"].map((word) => h("th", { scope: "col", class: "number" }, word)))),
        h("tbody", null, answer.layers.map((layer, i) => h("tr", null, h("td", null, `${i} ${layer.type}`),
          h("td", { class: "number" }, shape(layer, "in")), h("td", { class: "number" }, shape(layer, "out")), h("td", { class: "number" }, integer(layer.parameters))))))));
    layers.open = wasOpen;
  }

  empty();
  return {
    node,
    show,
    unreadable() {
      asked?.abort();
      mark("refused", "The JSON cannot be read");
      replace(faults);
      empty();
    },
    // The newest text counts; an older answer that comes later is dropped.
    async check(text) {
      asked?.abort();
      const mine = (asked = new AbortController());
      signal.addEventListener("abort", () => mine.abort(), { once: true, signal: mine.signal });
      mark("checking", "Checking");
      try {
        const answer = await sendJson("POST", "/v1/jobs?validate=only", text, { signal: mine.signal });
        if (!mine.signal.aborted) accept(answer);
      } catch (error) {
        if (mine.signal.aborted || signal.aborted) return;
        if (error instanceof ApiError && error.status) show(error);
        else mark("refused", error.message);
      }
    },
  };
}
