// studies.js: the studies that there are, and two to begin with: each is one request.

import { h, keyed, replace, setText } from "../../dom.js";
import { getJson, poll, sendJson } from "../../api.js";
import { navigate } from "../../shell.js";
import { age, dateTime, duration, isEnded, jobName, stateWord } from "../../format.js";
import { metricOf, progressOf } from "../../trials.js";
import { configurations, doublingLayers, doublingStudy, rowsNodesDepthStudy } from "../../studies.js";

export const title = "Studies";

const field = (id, word, value, min, max) => {
  const input = h("input", { id, type: "number", value, min, max, required: true });
  return { node: h("div", { class: "field" }, h("label", { for: id }, word), input), get number() {
    return Number(input.value);
  } };
};

export function mount(root, _params, signal) {
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const body = h("tbody");
  const table = h("table", { class: "stack", hidden: true },
    h("caption", { class: "hidden" }, "Studies, newest first"),
    h("thead", null, h("tr", null, ["State", "Study", "Metric", "Trainings", "Age"].map((word, i) => h("th", { scope: "col", class: i === 4 ? "number" : null }, word)))),
    body);
  const empty = h("div", { class: "empty", hidden: true }, "No sweep is tagged “study” yet.");

  // A form that posts one request and leads to what it becomes.
  function offer(name, words, fields, request) {
    const button = h("button", { class: "button primary", type: "submit" }, "Submit the study");
    async function submit(event) {
      event.preventDefault();
      button.disabled = true;
      failure.hidden = true;
      try {
        const { data } = await getJson("/v1/devices", { signal });
        const devices = data.filter((device) => device.state !== "lost").map((device) => device.id);
        const { id } = await sendJson("POST", "/v1/sweeps", request(devices), { signal });
        navigate(`#/studies/${encodeURIComponent(id)}`);
      } catch (error) {
        if (signal.aborted) return;
        setText(failure, [error.message, ...(error.errors ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`)].join(" "));
        failure.hidden = false;
        button.disabled = false;
      }
    }
    return h("section", { class: "card", "aria-label": name }, h("h2", null, name), h("p", null, words),
      h("form", { onsubmit: submit }, h("div", { class: "fields" }, fields.map(({ node }) => node)), h("div", { class: "toolbar end" }, button)));
  }

  const { least, most } = doublingLayers;
  const [from, to] = [field("doubling-from", "Layers, from", least, least, most), field("doubling-to", "to", most, least, most)];
  const [epochs, repeats] = [field("doubling-epochs", "Epochs", 20, 1, 100000), field("doubling-repeats", "Repeats", 3, 1, 100)];
  const [ownEpochs, ownRepeats] = [field("shapes-epochs", "Epochs", 20, 1, 100000), field("shapes-repeats", "Repeats", 5, 1, 100)];
  root.append(
    h("div", { class: "heading" }, h("h1", null, "Studies")),
    failure,
    h("p", null, "Which device trains what faster, and what does each field change? Every sweep whose fields all have lists is a study. These two compare the devices of this machine: one training at a time, each after a warm-up."),
    h("div", { class: "grid" },
      offer("Networks that double", "From layer to layer, 2-4-8-…-2, on 1,000 points inside or outside a circle: 22 parameters to 11 million.", [from, to, epochs, repeats],
        (devices) => doublingStudy({ from: Math.min(from.number, to.number), to: Math.max(from.number, to.number), epochs: epochs.number, repeats: repeats.number, devices })),
      offer("Rows × nodes × depth", `${configurations.length} configurations that grow, ${configurations.map((each) => each.join(" × ")).join(", ")}: rows of data, nodes of each hidden layer, hidden layers.`, [ownEpochs, ownRepeats],
        (devices) => rowsNodesDepthStudy({ epochs: ownEpochs.number, repeats: ownRepeats.number, devices }))),
    h("div", { class: "card flush" }, h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Studies" }, table), empty));

  function update(line, sweep) {
    const { fraction, words } = progressOf(sweep);
    const left = sweep.status === "running" && sweep.eta_seconds !== null ? `${duration(sweep.eta_seconds)} left` : "";
    replace(line,
      h("td", null, h("span", { class: "badge", "data-state": sweep.status }, stateWord(sweep.status))),
      h("td", { class: "wide" }, h("a", { class: "job-link", href: `#/studies/${encodeURIComponent(sweep.id)}`, title: sweep.id }, jobName(sweep))),
      h("td", { "data-label": "Metric" }, metricOf(sweep.metric).word),
      h("td", { class: "progress-cell wide" }, h("progress", { class: "meter", max: "1", value: fraction, "aria-label": `Progress of ${jobName(sweep)}` }), h("span", { class: "muted progress-words" }, words, h("span", null, left))),
      h("td", { class: "number", "data-label": "Age", title: dateTime(sweep.created_at) }, age(sweep.created_at)));
  }

  poll("/v1/sweeps?tag=study&limit=100", ({ data }) => {
    keyed(body, data, ({ id }) => id, () => h("tr"), update);
    table.hidden = data.length === 0;
    empty.hidden = data.length > 0;
  }, {
    signal,
    interval: (list) => (list?.data.some((sweep) => !isEnded(sweep)) ? 1000 : 5000),
    onError: (error) => {
      setText(failure, error.message);
      failure.hidden = error.status === 0;
    },
  });
}
