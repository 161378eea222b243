// submit_layers.js: the network as a list of layers: kind, its usual fields, order.

import { h, keyed, replace } from "../../dom.js";
import { Axis, axisOfText } from "../../space.js";
import { layers as types } from "../../vocabulary.js";

// The fields in the form: a text each. All others are edited in the JSON.
const inForm = ([, field]) => ["integer", "number", "pair"].includes(field.kind) && !field.rare;
const formFields = (type) => Object.entries(types[type]?.fields ?? {}).filter(inForm).map(([name]) => name);
const firstLayer = (type) => ({
  type,
  ...Object.fromEntries(Object.entries(types[type].fields).filter(([, field]) => "example" in field).map(([name, { example }]) => [name, structuredClone(example)])),
});
const capitalized = (word) => word[0].toUpperCase() + word.slice(1);
const groups = [...new Set(Object.values(types).map(({ group }) => group))].map((group) => [capitalized(group), Object.keys(types).filter((type) => types[type].group === group)]);

// The typed text as JSON, an Axis, or else the text itself.
export function typedJson(text, whole) {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  try {
    return JSON.parse(trimmed); // 3, 0.5, [2, 3]
  } catch {
    return axisOfText(trimmed, whole) ?? trimmed;
  }
}

const shown = (value) => (value === undefined || value === null ? "" : value instanceof Axis || typeof value !== "object" ? String(value) : JSON.stringify(value));

const kindSelect = (attributes) => h("select", attributes, groups.map(([label, words]) => h("optgroup", { label }, words.map((word) => h("option", { value: word }, word)))));

export function layersEditor({ onChange }) {
  const list = h("ol", { class: "layers" });
  const error = h("span", { class: "error" });
  const kind = kindSelect({ id: "f-layer-new", "aria-label": "Kind of the layer to add" });
  const add = h("button", { type: "button", class: "button", id: "f-layer-add" }, "Add layer");
  const node = h("div", null, list, error, h("div", { class: "toolbar add-layer" }, kind, add));
  let layers = [];
  let entries = []; // of fields(), remade with the rows

  function changed(focusAt) {
    onChange(layers);
    draw();
    if (focusAt !== undefined) list.children[Math.min(focusAt, layers.length - 1)]?.querySelector("select")?.focus();
  }

  function move(from, to) {
    const [layer] = layers.splice(from, 1);
    layers.splice(to, 0, layer);
    changed(to);
  }

  // A row is rebuilt when the kind or the index of its layer changed; otherwise its values are updated.
  function row({ layer, index }) {
    const select = kindSelect({ "aria-label": `Layer ${index}` });
    if (!Object.hasOwn(types, layer.type)) select.prepend(h("option", { value: layer.type ?? "" }, layer instanceof Axis ? layer.words : layer.type || "?"));
    select.value = layer.type ?? "";
    select.addEventListener("change", () => {
      layers[index] = firstLayer(select.value);
      changed(index);
    });
    const fault = h("span", { class: "error", id: `f-layer-${index}-error` });
    const inputs = formFields(layer.type).map((name) => {
      const id = `f-layer-${index}-${name}`;
      const input = h("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", size: "5", "aria-describedby": fault.id });
      input.addEventListener("input", () => {
        const value = typedJson(input.value, types[layer.type].fields[name].kind !== "number");
        input.classList.toggle("ranged", value instanceof Axis);
        if (value === undefined) delete layers[index][name];
        else layers[index][name] = value;
        onChange(layers);
      });
      return { name, input, node: h("span", { class: "layer-field" }, h("label", { for: id }, name), input) };
    });
    const button = (word, label, off, work) => h("button", { type: "button", class: "button quiet small-button", "aria-label": `${label} layer ${index}`, title: label, disabled: off, onclick: work }, word);
    const item = h("li", null,
      h("span", { class: "layer-index", "aria-hidden": "true" }, index),
      select,
      h("span", { class: "layer-fields" }, inputs.map((each) => each.node)),
      h("span", { class: "layer-buttons" },
        button("↑", "Move up", index === 0, () => move(index, index - 1)),
        button("↓", "Move down", index === layers.length - 1, () => move(index, index + 1)),
        button("×", "Remove", layers.length === 1, () => {
          layers.splice(index, 1);
          changed(Math.max(0, index - 1));
        })),
      fault);
    item.inputs = inputs;
    item.entries = [{ pointer: `/model/layers/${index}`, input: select, error: fault, wrap: item },
      ...inputs.map(({ name, input }) => ({ pointer: `/model/layers/${index}/${name}`, input, error: fault, wrap: item }))];
    return item;
  }

  function update(item, { layer }) {
    for (const { name, input } of item.inputs) {
      if (document.activeElement === input) continue;
      input.value = shown(layer[name]);
      input.classList.toggle("ranged", layer[name] instanceof Axis);
    }
  }

  function draw() {
    const items = layers.map((layer, index) => ({ layer: layer ?? {}, index }));
    keyed(list, items, ({ layer, index }) => `${index} ${layer.type} ${layers.length}`, row, update);
    entries = [{ pointer: "/model", input: kind, error, wrap: list }, ...[...list.children].flatMap((item) => item.entries)];
  }

  add.addEventListener("click", () => {
    layers.push(firstLayer(kind.value));
    changed(layers.length - 1);
  });

  return {
    node,
    fields: () => entries,
    show(next) {
      add.disabled = next instanceof Axis;
      if (!Array.isArray(next)) {
        layers = [];
        replace(list);
        list.keyedNodes = new Map();
        entries = [{ pointer: "/model", input: kind, error, wrap: list }];
        return;
      }
      layers = next;
      draw();
    },
  };
}
