// reading.js: how a file is read: the controls that say so where it is not to be found out, and what was found.

import { attribute, h, replace } from "../../dom.js";
import { choices, texts, worded } from "../../options.js";

const dialectKeys = ["encoding", "delimiter", "quote", "header", "row_names", "preamble", "comment", "decimal", "thousands", "missing", "dates"];
const otherKeys = ["size", "channels", "table"];

function controlOf(id, key) {
  if (choices[key]) {
    const [label, words] = choices[key];
    return { label, control: h("select", { id }, h("option", { value: "" }, "detect"), words.map(([word, said]) => h("option", { value: word }, said))) };
  }
  const [label, { list, ...attributes }] = texts[key];
  const words = list && h("datalist", { id: `${id}-words` }, list.map((word) => h("option", { value: word })));
  return { label, words, control: h("input", { id, autocomplete: "off", list: words ? words.id : null, ...attributes }) };
}

// Controls, for a <details>, and the query that they make. prefix: of their ids. dialectOnly: without what is of pictures and JSON. given:
// values to begin with.
export function readingOptions({ prefix, dialectOnly = false, given = {} }) {
  const keys = dialectOnly ? dialectKeys : [...dialectKeys, ...otherKeys];
  const fields = new Map(keys.map((key) => {
    const { label, words, control } = controlOf(`${prefix}-${key}`, key);
    control.value = given[key] ?? "";
    return [key, { control, wrap: h("div", { class: "field" }, h("label", { for: control.id }, label), control, words) }];
  }));
  const node = h("div", { class: "fields" }, [...fields.values()].map(({ wrap }) => wrap));
  const values = () => Object.fromEntries([...fields].filter(([, { control, wrap }]) => !wrap.hidden && control.value.trim()).map(([key, { control }]) => [key, control.value.trim()]));
  return {
    node,
    values,
    // A part of a dataset has no options but those of its text.
    show(isPart) {
      for (const key of otherKeys) if (fields.has(key)) fields.get(key).wrap.hidden = isPart;
    },
    query(more = {}) {
      const found = new URLSearchParams(Object.entries({ ...values(), ...more }).map(([key, value]) => [key, key === "missing" && value === "," ? "" : value]));
      return found.size ? `?${found}` : "";
    },
    // Marks the options that a refusal names by their labels, and goes to the first one; "": none.
    ask(refusal) {
      const named = [...fields].filter(([key]) => new RegExp(`“${(choices[key] ?? texts[key])[0]}[:”]`).test(refusal)).map(([, field]) => field);
      for (const field of fields.values()) attribute(field.control, "aria-invalid", named.includes(field) ? "true" : null);
      if (refusal) node.closest("details").open = true;
      named[0]?.control.focus();
    },
  };
}

const marks = { "\t": "tab", " ": "space", "": "none" };

function wordsOf(key, value) {
  if (value === null) return "none";
  if (key === "missing") return ["empty cells", ...value.filter(Boolean)].join(", ");
  const [, said] = choices[key]?.[1].find(([word]) => word === String(value)) ?? [];
  return key === "thousands" && value === " " ? "space" : said ?? marks[value] ?? String(value);
}

// Detected format, and why.
export function dialectTable(dialect) {
  const body = h("tbody");
  const shown = dialectKeys.filter((key) => dialect[key] !== undefined && !(key === "dates" && dialect[key] === null));
  replace(body, shown.map((key) => h("tr", null, h("th", { scope: "row" }, (choices[key] ?? texts[key])[0]), h("td", null, wordsOf(key, dialect[key])), h("td", { class: "muted" }, worded(dialect.evidence?.[key] ?? "")))));
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Detected options" }, h("table", { class: "compact" },
    h("thead", { class: "hidden" }, h("tr", null, ["Option", "Value", "Evidence"].map((word) => h("th", { scope: "col" }, word)))), body));
}
