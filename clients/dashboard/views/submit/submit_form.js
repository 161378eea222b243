// submit_form.js: the usual fields of a job as a form, and those of a sweep once a field is a range. The form
// writes into the spec's tree (space.js) by JSON pointers and is written from it; other members stay unchanged.

import { getJson } from "../../api.js";
import { attribute, h, replace, setText } from "../../dom.js";
import { pointerGet, pointerSet } from "../../json.js";
import { Axis, axisAround, axisOfText, isSweep, numberOf, specOf, treeOf } from "../../space.js";
import { losses, optimizers, schedules } from "../../vocabulary.js";
import { layersEditor, typedJson } from "./submit_layers.js";

// The typed text as a JSON value: a number, an Axis, or else the text, which the daemon refuses. whole: of whole numbers.
function typedValue(text, whole) {
  const trimmed = text.trim();
  return trimmed === "" ? undefined : numberOf(trimmed) ?? axisOfText(trimmed, whole) ?? trimmed;
}

const shown = (value) => (value === undefined || value === null ? "" : value instanceof Axis || typeof value !== "object" ? String(value) : JSON.stringify(value));

const targetsShown = 200;
const searches = ["random", "grid", "sobol", "tpe", "asha"];
const metrics = ["validation.loss", "validation.accuracy", "validation.f1", "validation.roc_auc", "validation.rmse", "validation.mae", "validation.r2", "train.loss", "train.accuracy", "train.r2", "seconds"];

const expert = ["pos_weight"]; // fields of words that few know

// The fields of all words of a kind that are in the form: name -> its kind. Others are edited in the JSON.
const wordFields = (words, chosen) => new Map(Object.values(words).flatMap(({ fields }) => Object.entries(fields))
  .filter(([name, { kind }]) => (chosen ? chosen.includes(name) : kind !== "boolean" && kind !== "word" && !expert.includes(name))).map(([name, { kind }]) => [name, kind]));

const labelOf = (name) => name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");
const wordOf = (value) => (typeof value === "object" && value !== null && !(value instanceof Axis) ? value.type : value);

export function specForm({ datasets, devices, onChange }) {
  let spec = {}; // the tree
  let inline = null; // stored while another source is chosen
  const fields = []; // {pointer, input, error, write(value), wrap}
  const node = h("form", { class: "spec-form", onsubmit: (event) => event.preventDefault() });

  function field(pointer, label, input, { read = () => typedValue(input.value, whole), write = (value) => (input.value = shown(value)), set, hint, tip, wide, whole } = {}) {
    const id = `f${pointer.replaceAll("/", "-")}`;
    const error = h("span", { class: "error", id: `${id}-error` });
    input.id = id;
    input.setAttribute("aria-describedby", `${id}-error`);
    const about = h("span", { class: "hint" }, hint);
    const wrap = h("div", { class: wide ? "field wide" : "field", title: tip }, h("label", { for: id, class: tip ? "tipped" : null }, label), input, about, error);
    fields.push({ pointer, input, error, wrap, write, about, hint: hint ?? "" });
    input.addEventListener(input.tagName === "SELECT" ? "change" : "input", () => {
      if (input.dataset.special) return;
      if (set) set();
      else pointerSet(spec, pointer, read());
      changed();
    });
    return wrap;
  }

  // A field of something that may be left out, or be a word alone: `word()` is the one that it is.
  function member(parent, name, label, input, { word, whole, decides, read = () => typedJson(input.value, whole), ...rest } = {}) {
    const pointer = `${parent}/${name}`;
    return field(pointer, label, input, { ...rest, set: () => {
      const value = read();
      const at = pointerGet(spec, parent);
      if (word && value !== undefined && (at === null || typeof at !== "object")) pointerSet(spec, parent, { type: word() });
      pointerSet(spec, pointer, value);
      const names = Object.keys(pointerGet(spec, parent) ?? {});
      if (value !== undefined || (!decides && names.length > (word ? 1 : 0))) return;
      pointerSet(spec, parent, word ? word() : undefined);
    } });
  }

  // The fields of the words of a kind, of which arrange() shows those of the chosen one.
  const ofWords = [];
  function membersOf(parent, words, word, chosen, tip) {
    return [...wordFields(words, chosen)].map(([name, kind]) => {
      ofWords.push({ pointer: `${parent}/${name}`, name, words, word });
      return member(parent, name, labelOf(name), text(kind === "json" || kind === "pair" ? {} : { inputmode: "decimal" }), { word: parent === "/optimizer" ? null : word, whole: kind === "integer", tip });
    });
  }

  function changed() {
    const made = specOf(spec);
    sweepFields.hidden = !isSweep(made);
    onChange(made);
    arrange();
  }

  const text = (attributes) => h("input", { type: "text", autocomplete: "off", ...attributes });
  const decimal = () => text({ inputmode: "decimal" });
  const choice = (words, first) => h("select", null, first && h("option", { value: "" }, first), words.map((word) => h("option", { value: word }, word)));
  const word = (input) => ({ read: () => axisOfText(input.value) ?? (input.value || undefined) });

  // the source of the rows: the value of the select is the member of data
  const source = h("select", { "data-special": "1" });
  const datasetOptions = h("optgroup", { label: "Datasets" });
  source.append(datasetOptions, h("optgroup", { label: "Made up" }, h("option", { value: "generator:xor" }, "XOR, four rows"), h("option", { value: "generator:disc" }, "disc, points in a square")),
    h("optgroup", { label: "Elsewhere" }, h("option", { value: "inline" }, "in the job itself (see JSON)"), h("option", { value: "path" }, "a path on the server")));
  const known = new Map(datasets.map((dataset) => [dataset.name, dataset]));

  function listDatasets() {
    const names = [...known.values()].filter((dataset) => dataset.role !== "weights").map((dataset) => dataset.name);
    const wanted = spec.data?.dataset;
    if (wanted !== undefined && !names.includes(wanted)) names.push(wanted);
    replace(datasetOptions, names.map((name) => h("option", { value: `dataset:${name}` }, known.has(name) ? name : `${name} (not uploaded yet)`)));
    datasetOptions.hidden = names.length === 0;
  }

  function writeSource() {
    listDatasets();
    const data = spec.data ?? {};
    source.value = data.dataset !== undefined ? `dataset:${data.dataset}` : data.generator !== undefined ? `generator:${data.generator}` : data.inline !== undefined ? "inline" : data.path !== undefined ? "path" : "";
    if (data.inline) inline = data.inline;
    suggestTargets();
  }

  source.addEventListener("change", () => {
    const [kind, name] = source.value.split(/:(.*)/s);
    const { dataset, generator, inline: rows, path, sha256, rows: count, seed, ...rest } = spec.data ?? {};
    const chosen = { dataset: name, generator: name, inline: inline ?? { x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: [0, 1, 1, 0] }, path: path ?? "/srv/data/" }[kind];
    if (kind === "generator") delete rest.target;
    spec.data = { [kind]: chosen, ...(name === "disc" ? { rows: count ?? 1000 } : {}), ...rest };
    changed();
    write();
  });

  // "price" is a column's name, and so is "2020"; "#3" is an index
  const target = text({ placeholder: "the last column; #3 by its index", list: "f-targets" });
  const targets = h("datalist", { id: "f-targets" });
  let suggested; // the dataset whose columns are suggested

  async function suggestTargets() {
    const name = spec.data?.dataset;
    if (name === suggested) return;
    suggested = name;
    replace(targets);
    if (!known.has(name)) return;
    const { columns } = await getJson(`/v1/datasets/${encodeURIComponent(name)}`).catch(() => ({ columns: [] }));
    if (name === suggested) replace(targets, columns.slice(0, targetsShown).map((column) => column.name && h("option", { value: column.name })));
  }
  const standardize = h("span", { class: "checks" });
  const boxes = ["x", "y"].map((part) => {
    const box = h("input", { type: "checkbox", id: `f-standardize-${part}` });
    box.addEventListener("change", () => {
      const now = boxes.filter((each) => each.box.checked).map((each) => each.part);
      pointerSet(spec, "/data/standardize", now.length ? now : undefined);
      changed();
    });
    standardize.append(h("label", { class: "check", for: box.id }, box, part === "x" ? "inputs" : "targets"));
    return { part, box };
  });
  const standardizeError = h("span", { class: "error" });
  fields.push({
    pointer: "/data/standardize", input: boxes[0].box, error: standardizeError, wrap: standardize,
    write: (value) => boxes.forEach(({ part, box }) => (box.checked = Array.isArray(value) && value.includes(part))),
  });

  // The first webhook; others are edited in the JSON.
  const hookEvents = ["end", "failed", "best"];
  const hookUrl = text({ inputmode: "url", placeholder: "https://…" });
  const hookBoxes = hookEvents.map((event) => ({ event, box: h("input", { type: "checkbox", id: `f-webhook-${event}` }) }));
  const hookError = h("span", { class: "error" });
  const firstHook = (hooks) => (Array.isArray(hooks) ? hooks[0] : undefined);
  function hookSet() {
    const [first, ...others] = Array.isArray(spec.webhooks) ? spec.webhooks : [];
    const url = hookUrl.value.trim();
    const events = hookBoxes.filter(({ box }) => box.checked).map(({ event }) => event);
    const hooks = url ? [{ ...first, url, events }, ...others] : others;
    pointerSet(spec, "/webhooks", hooks.length ? hooks : undefined);
  }
  const hookChecks = h("span", { class: "checks" }, hookBoxes.map(({ event, box }) => {
    box.addEventListener("change", () => {
      hookSet();
      changed();
    });
    return h("label", { class: "check", for: box.id }, box, event);
  }));
  fields.push({
    pointer: "/webhooks/0/events", input: hookBoxes[0].box, error: hookError, wrap: hookChecks,
    write: () => hookBoxes.forEach(({ event, box }) => (box.checked = (firstHook(spec.webhooks)?.events ?? ["end"]).includes(event))),
  });

  const tags = text({ placeholder: "with commas between" });
  const optimizer = choice(Object.keys(optimizers));
  optimizer.dataset.special = "1";
  optimizer.addEventListener("change", () => {
    const { lr } = spec.optimizer ?? {};
    spec.optimizer = { type: axisOfText(optimizer.value) ?? optimizer.value, ...(lr === undefined ? {} : { lr }) };
    changed();
    write();
  });
  const loss = choice(Object.keys(losses));
  const device = choice([...new Set(["auto", "cpu", "cuda", ...devices.map(({ id }) => id)])]);
  const schedule = choice(Object.keys(schedules));
  const flip = choice(["yes"], "no");
  const gaps = choice(["keep"], "cut");
  // A part of the form that few jobs need; it opens by itself where the spec has something of it.
  const part = (title, under, ...children) => {
    const node_ = h("details", { class: "more" }, h("summary", null, title), h("div", { class: "fields" }, children));
    parts.push({ node: node_, under });
    return node_;
  };
  const parts = [];
  const series = part("A series in time", ["/data/time", "/data/window"],
    field("/data/time", "Column of the time", text(), { read: () => series.querySelector("#f-data-time").value || undefined, hint: "the latest rows are the test" }),
    member("/data/window", "length", "Window", decimal(), { whole: true, hint: "rows of an example" }),
    member("/data/window", "horizon", "Horizon", decimal(), { whole: true, hint: "rows ahead" }),
    member("/data/window", "stride", "Stride", decimal(), { whole: true }),
    member("/data/window", "group", "Group", text(), { read: () => series.querySelector("#f-data-window-group").value || undefined, hint: "a column: a series a word" }),
    member("/data/window", "gaps", "Windows over gaps", gaps, { read: () => gaps.value || undefined, write: (value) => (gaps.value = value === "keep" ? value : "") }));
  const pictures = part("Pictures", ["/data/normalize", "/data/augment"],
    member("/data/normalize", "mean", "Normalize: mean", text(), { hint: "one, or [one, a, channel]" }),
    member("/data/normalize", "std", "Normalize: deviation", text()),
    member("/data/augment", "shift", "Augment: shift", decimal(), { whole: true, hint: "pixels at most" }),
    member("/data/augment", "flip", "Augment: flip", flip, { read: () => flip.value === "yes" || undefined, write: (value) => (flip.value = value ? "yes" : "") }),
    member("/data/augment", "crop", "Augment: crop", text({ placeholder: "[24, 24]" }), { hint: "[height, width]" }));

  const layers = layersEditor({
    onChange(list) {
      pointerSet(spec, "/model/layers", list);
      changed();
    },
  });

  const search = choice(searches);
  const metric = text({ list: "f-metrics" });
  const sweepFields = h("div", { class: "fields", hidden: true },
    field("/sweep/search", "Search", search, { ...word(search), write: (value) => (search.value = value ?? searches[0]) }),
    field("/sweep/metric", "Metric", metric, { read: () => metric.value.trim() || undefined }),
    field("/sweep/max_trials", "Trials", decimal()),
    field("/sweep/max_seconds", "Seconds at most", decimal()),
    h("datalist", { id: "f-metrics" }, metrics.map((name) => h("option", { value: name }))));

  node.append(
    h("div", { class: "fields" },
      field("/name", "Name", text({ maxlength: "128" }), { read: () => node.querySelector("#f-name").value || undefined }),
      field("/tags", "Tags", tags, {
        read: () => {
          const words = tags.value.split(",").map((each) => each.trim()).filter(Boolean);
          return words.length ? words : undefined;
        },
        write: (value) => (tags.value = Array.isArray(value) ? value.join(", ") : shown(value)),
      })),
    h("h3", null, "Data"),
    h("div", { class: "fields" },
      field("/data", "Rows come from", source, { write: writeSource, wide: true }),
      field("/data/path", "Path", text(), { read: () => node.querySelector("#f-data-path").value || undefined, wide: true }),
      field("/data/rows", "Points", decimal(), { whole: true }),
      field("/data/target", "Target column", target, {
        read: () => (target.value.trim() === "" ? undefined : /^\s*#-?\d+\s*$/.test(target.value) ? Number(target.value.trim().slice(1)) : target.value),
        write: (value) => (target.value = typeof value === "number" ? `#${value}` : shown(value)),
      }), targets,
      field("/data/test", "Test share", decimal()),
      field("/data/validation", "Validation share", decimal()),
      h("fieldset", { class: "field plain" }, h("legend", { class: "label" }, "Standardize"), standardize, standardizeError)),
    series,
    pictures,
    h("h3", null, "Network"),
    layers.node,
    h("h3", null, "Training"),
    h("div", { class: "fields" },
      field("/loss", "Loss", loss, { ...word(loss), write: (value) => (loss.value = shown(wordOf(value))) }),
      membersOf("/loss", losses, () => loss.value),
      field("/optimizer/type", "Optimizer", optimizer, { write: (value) => (optimizer.value = value ?? "sgd") }),
      field("/optimizer/lr", "Learning rate", decimal()),
      membersOf("/optimizer", optimizers, () => optimizer.value, ["momentum", "weight_decay"]),
      field("/schedule", "Schedule", schedule, { read: () => (schedule.value === "constant" ? undefined : schedule.value), write: (value) => (schedule.value = wordOf(value) ?? "constant") }),
      membersOf("/schedule", schedules, () => schedule.value),
      field("/epochs", "Epochs", decimal(), { whole: true }),
      field("/batch_size", "Batch size", decimal(), { hint: "a number, or full", whole: true }),
      member("/early_stopping", "patience", "Stop early after", decimal(), { whole: true, decides: true, hint: "epochs without improvement" }),
      member("/early_stopping", "metric", "Metric", choice(["loss", "error", "accuracy", "precision", "recall", "f1", "roc_auc", "mse", "rmse", "mae", "r2"].map((name) => `validation.${name}`), "by default"), { read: () => node.querySelector("#f-early_stopping-metric").value || undefined }),
      member("/early_stopping", "min_delta", "Better by", decimal()),
      field("/seed", "Seed", decimal(), { whole: true }),
      field("/repeats", "Repeats", decimal(), { hint: "with other seeds" }),
      field("/folds", "Folds", decimal(), { hint: "of cross-validation" }),
      field("/device", "Device", device, { read: () => (device.value === "auto" ? undefined : device.value), write: (value) => writeDevice(value ?? "auto") }),
      field("/priority", "Priority", decimal(), { hint: "-100 to 100" })),
    part("Advanced", ["/parallel", ...expert.map((name) => `/loss/${name}`)],
      membersOf("/loss", losses, () => loss.value, expert, "Weight of a row of the positive class relative to the negative class: 3 if there are three times as many negatives"),
      field("/parallel/data", "Replicas", decimal(), { hint: "of the network, or auto", whole: true, tip: "Copies of the network, one per device; each learns from a slice of every batch" }),
      field("/parallel/model", "Stages", decimal(), { hint: "of its layers", whole: true, tip: "Pieces into which the layers are split, one per device, for a network too large for one device" }),
      field("/parallel/micro_batches", "Micro-batches", decimal(), { hint: "of a pipeline", whole: true, tip: "Pieces of a batch that pass through the stages one after another: more of them leave fewer stages idle" })),
    part("Webhooks", ["/webhooks"],
      field("/webhooks", "URL", hookUrl, { set: hookSet, write: (value) => (hookUrl.value = shown(firstHook(value)?.url)), wide: true }),
      h("fieldset", { class: "field plain" }, h("legend", { class: "label" }, "Messages of"), hookChecks, hookError)),
    h("h3", null, "Sweep"),
    h("p", { class: "hint" }, "A range instead of a number trains the job many times: ", ["0.1..0.9", "log:1e-4..0.1", "int:4..64", "8, 16, 32"].map((each, i) => [i ? ", " : "", h("code", null, each)]), "."),
    sweepFields,
  );

  function writeDevice(value) {
    if (![...device.options].some((option) => option.value === value)) device.append(h("option", { value }, value));
    device.value = value;
  }

  // What varies is shown as it is typed, below it in words; a choice of words has one more.
  function writeField(each) {
    const value = pointerGet(spec, each.pointer);
    if (document.activeElement === each.input && each.input.tagName !== "SELECT") return;
    if (!(value instanceof Axis)) each.write(value);
    else if (each.input.tagName === "SELECT") {
      if (![...each.input.options].some((option) => option.value === String(value))) each.input.append(h("option", { value: String(value) }, String(value)));
      each.input.value = String(value);
    } else each.input.value = String(value);
  }

  const entry = (pointer) => fields.find((each) => each.pointer === pointer);

  // Only the fields that apply to this data and this optimizer. What lies within something that varies is closed.
  function arrange() {
    for (const { pointer, input, about, hint } of fields) {
      const value = pointerGet(spec, pointer);
      const around = axisAround(spec, pointer);
      if (about) setText(about, around ? `one of ${around.words}` : value instanceof Axis ? value.words : hint);
      input.disabled = !!around;
    }
    const data = spec.data ?? {};
    entry("/data/path").wrap.hidden = data.path === undefined;
    entry("/data/rows").wrap.hidden = data.generator !== "disc";
    entry("/data/target").wrap.hidden = data.generator !== undefined || data.inline !== undefined;
    for (const { pointer, name, words, word: chosen } of ofWords) {
      const known = words[chosen()]?.fields[name];
      entry(pointer).wrap.hidden = !known;
      if (known) attribute(entry(pointer).input, "placeholder", shown(known.default) || (known.required ? "needed" : null));
    }
    series.hidden = pictures.hidden = data.dataset === undefined && data.path === undefined;
    for (const name of ["metric", "min_delta"]) entry(`/early_stopping/${name}`).wrap.hidden = !pointerGet(spec, "/early_stopping");
  }

  function write() {
    fields.forEach(writeField);
    layers.show(pointerGet(spec, "/model/layers"));
    arrange();
    for (const each of parts) if (each.under.some((pointer) => pointerGet(spec, pointer) != null)) each.node.open = true;
  }

  // The spec changed elsewhere: every field but the focused one follows it. Its sweep's members outlive its ranges.
  function show(next) {
    const { sweep } = spec;
    spec = treeOf(next);
    sweepFields.hidden = !isSweep(next);
    if (!spec.sweep && sweep) spec.sweep = { ...sweep, space: undefined };
    write();
  }

  return {
    node,
    show,
    hasDataset: (name) => known.has(name),
    addDataset(dataset) {
      known.set(dataset.name, dataset);
      listDatasets();
      writeSource();
    },
    // Each error, by its pointer into the tree, at the field that holds it, or at the nearest around it.
    showErrors(errors) {
      const all = [...fields, ...layers.fields()];
      const faulty = new Map();
      for (const { pointer, detail } of errors) {
        const nearest = all.filter((each) => pointer === each.pointer || pointer.startsWith(`${each.pointer}/`)).sort((a, b) => b.pointer.length - a.pointer.length)[0];
        const folded = nearest?.wrap.closest("details");
        if (folded && !nearest.wrap.hidden) folded.open = true;
        if (nearest && !nearest.wrap.hidden) faulty.set(nearest, [...(faulty.get(nearest) ?? []), detail]);
      }
      // a layer's fields share one line for its errors
      const lines = new Map(all.map((each) => [each.error, []]));
      for (const [each, words] of faulty) lines.get(each.error).push(...words);
      for (const [line, words] of lines) setText(line, words.join(" "));
      for (const each of all) attribute(each.input, "aria-invalid", faulty.has(each) ? "true" : null);
    },
    // Empty fields show the daemon's defaults, of the tree `filled`.
    showDefaults(filled) {
      for (const { pointer, input } of [...fields, ...layers.fields()]) {
        if (input.tagName !== "INPUT" || input.type !== "text" || ["/name", "/tags", "/data/target", "/webhooks"].includes(pointer)) continue;
        const value = pointerGet(filled, pointer);
        if (value !== undefined) attribute(input, "placeholder", value instanceof Axis ? null : shown(value) || null);
      }
    },
  };
}
