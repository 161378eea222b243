// submit_form.js: the usual fields of a job as a form. The form holds no state of its own: it writes into
// the spec by JSON pointers and is written from it; other members stay unchanged.

import { attribute, h, replace, setText } from "../dom.js";
import { pointerGet, pointerSet } from "../json.js";
import { losses, optimizers } from "../vocabulary.js";
import { layersEditor } from "./submit_layers.js";

// The typed text as a JSON value: a number if it is one, else the text, which the daemon refuses.
function typedValue(text) {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed) ? Number(trimmed) : trimmed;
}

const shown = (value) => (value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

export function specForm({ datasets, devices, onChange }) {
  let spec = {};
  let inline = null; // stored while another source is chosen
  const fields = []; // {pointer, input, error, write(value), wrap}
  const node = h("form", { class: "spec-form", onsubmit: (event) => event.preventDefault() });

  function field(pointer, label, input, { read = () => typedValue(input.value), write = (value) => (input.value = shown(value)), hint, wide } = {}) {
    const id = `f${pointer.replaceAll("/", "-")}`;
    const error = h("span", { class: "error", id: `${id}-error` });
    input.id = id;
    input.setAttribute("aria-describedby", `${id}-error`);
    const wrap = h("div", { class: wide ? "field wide" : "field" }, h("label", { for: id }, label), input, hint && h("span", { class: "hint" }, hint), error);
    const entry = { pointer, input, error, wrap, write };
    fields.push(entry);
    input.addEventListener(input.tagName === "SELECT" ? "change" : "input", () => {
      if (input.dataset.special) return;
      pointerSet(spec, pointer, read());
      onChange(spec);
      arrange();
    });
    return wrap;
  }

  const text = (attributes) => h("input", { type: "text", autocomplete: "off", ...attributes });
  const decimal = () => text({ inputmode: "decimal" });
  const choice = (words, first) => h("select", null, first && h("option", { value: "" }, first), words.map((word) => h("option", { value: word }, word)));
  const word = (input) => ({ read: () => input.value || undefined });

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
  }

  source.addEventListener("change", () => {
    const [kind, name] = source.value.split(/:(.*)/s);
    const { dataset, generator, inline: rows, path, sha256, rows: count, seed, ...rest } = spec.data ?? {};
    const chosen = { dataset: name, generator: name, inline: inline ?? { x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: [0, 1, 1, 0] }, path: path ?? "/srv/data/" }[kind];
    if (kind === "generator") delete rest.target;
    spec.data = { [kind]: chosen, ...(name === "disc" ? { rows: count ?? 1000 } : {}), ...rest };
    onChange(spec);
    show(spec);
  });

  // "-1" is an index, "price" a column's name
  const target = text({ placeholder: "the last column" });
  const standardize = h("span", { class: "checks" });
  const boxes = ["x", "y"].map((part) => {
    const box = h("input", { type: "checkbox", id: `f-standardize-${part}` });
    box.addEventListener("change", () => {
      const now = boxes.filter((each) => each.box.checked).map((each) => each.part);
      pointerSet(spec, "/data/standardize", now.length ? now : undefined);
      onChange(spec);
    });
    standardize.append(h("label", { class: "check", for: box.id }, box, part === "x" ? "inputs" : "targets"));
    return { part, box };
  });
  const standardizeError = h("span", { class: "error" });
  fields.push({
    pointer: "/data/standardize", input: boxes[0].box, error: standardizeError, wrap: standardize,
    write: (value) => boxes.forEach(({ part, box }) => (box.checked = Array.isArray(value) && value.includes(part))),
  });

  const tags = text({ placeholder: "with commas between" });
  const optimizer = choice(Object.keys(optimizers));
  optimizer.dataset.special = "1";
  optimizer.addEventListener("change", () => {
    const { lr } = spec.optimizer ?? {};
    spec.optimizer = { type: optimizer.value, ...(lr === undefined ? {} : { lr }) };
    onChange(spec);
    show(spec);
  });
  const loss = choice(Object.keys(losses));
  const device = choice([...new Set(["auto", "cpu", "cuda", ...devices.map(({ id }) => id)])]);
  const momentum = decimal();

  const layers = layersEditor({
    onChange(list) {
      pointerSet(spec, "/model/layers", list);
      onChange(spec);
    },
  });

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
      field("/data/rows", "Points", decimal()),
      field("/data/target", "Target column", target, { read: () => (target.value.trim() === "" ? undefined : /^-?\d+$/.test(target.value.trim()) ? Number(target.value) : target.value) }),
      field("/data/test", "Test share", decimal()),
      field("/data/validation", "Validation share", decimal()),
      h("fieldset", { class: "field plain" }, h("legend", { class: "label" }, "Standardize"), standardize, standardizeError)),
    h("h3", null, "Network"),
    layers.node,
    h("h3", null, "Training"),
    h("div", { class: "fields" },
      field("/loss", "Loss", loss, { ...word(loss), write: (value) => (loss.value = typeof value === "object" && value ? value.type : shown(value)) }),
      field("/optimizer/type", "Optimizer", optimizer, { write: (value) => (optimizer.value = value ?? "sgd") }),
      field("/optimizer/lr", "Learning rate", decimal()),
      field("/optimizer/momentum", "Momentum", momentum),
      field("/epochs", "Epochs", decimal()),
      field("/batch_size", "Batch size", decimal(), { hint: "a number, or full" }),
      field("/seed", "Seed", decimal()),
      field("/device", "Device", device, { read: () => (device.value === "auto" ? undefined : device.value), write: (value) => writeDevice(value ?? "auto") }),
      field("/priority", "Priority", decimal(), { hint: "-100 to 100" })),
  );

  function writeDevice(value) {
    if (![...device.options].some((option) => option.value === value)) device.append(h("option", { value }, value));
    device.value = value;
  }

  const entry = (pointer) => fields.find((each) => each.pointer === pointer);

  // Only the fields that apply to this data and this optimizer.
  function arrange() {
    const data = spec.data ?? {};
    entry("/data/path").wrap.hidden = data.path === undefined;
    entry("/data/rows").wrap.hidden = data.generator !== "disc";
    entry("/data/target").wrap.hidden = data.generator !== undefined || data.inline !== undefined;
    entry("/optimizer/momentum").wrap.hidden = !optimizers[optimizer.value]?.fields.momentum;
  }

  // The spec changed elsewhere: every field but the focused one follows it.
  function show(next) {
    spec = next;
    for (const each of fields) if (document.activeElement !== each.input || each.input.tagName === "SELECT") each.write(pointerGet(spec, each.pointer));
    layers.show(pointerGet(spec, "/model/layers"));
    arrange();
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
    // Each error at the field that holds its pointer, or at the nearest around it.
    showErrors(errors) {
      const all = [...fields, ...layers.fields()];
      const faulty = new Map();
      for (const { pointer, detail } of errors) {
        const nearest = all.filter((each) => pointer === each.pointer || pointer.startsWith(`${each.pointer}/`)).sort((a, b) => b.pointer.length - a.pointer.length)[0];
        if (nearest && !nearest.wrap.hidden) faulty.set(nearest, [...(faulty.get(nearest) ?? []), detail]);
      }
      // a layer's fields share one line for its errors
      const lines = new Map(all.map((each) => [each.error, []]));
      for (const [each, words] of faulty) lines.get(each.error).push(...words);
      for (const [line, words] of lines) setText(line, words.join(" "));
      for (const each of all) attribute(each.input, "aria-invalid", faulty.has(each) ? "true" : null);
    },
    // Empty fields show the daemon's defaults.
    showDefaults(filled) {
      for (const { pointer, input } of [...fields, ...layers.fields()]) {
        if (input.tagName !== "INPUT" || input.type !== "text" || ["/name", "/tags", "/data/target"].includes(pointer)) continue;
        attribute(input, "placeholder", shown(pointerGet(filled, pointer)) || null);
      }
    },
  };
}
