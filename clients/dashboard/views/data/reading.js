// reading.js: how a file is read: the controls that say so where it is not to be found out, and what was found.

import { attribute, h, replace } from "../../dom.js";

const choices = {
  encoding: ["Encoding", [["utf-8", "UTF-8"], ["utf-16le", "UTF-16, little-endian"], ["utf-16be", "UTF-16, big-endian"], ["windows-1252", "Windows-1252"]]],
  quote: ["Quotes", [['"', 'double: "a"'], ["'", "single: 'a'"], ["escaped", 'double, with backslashes: "a\\""'], ["none", "none"]]],
  header: ["First line", [["true", "names of the columns"], ["false", "a row"]]],
  row_names: ["First column", [["false", "a column with a name"], ["true", "names of rows, without a name"]]],
  decimal: ["Decimal mark", [[".", "point: 1.5"], [",", "comma: 1,5"]]],
  thousands: ["Between thousands", [["none", "nothing"], [",", "comma: 1,000"], [".", "point: 1.000"], ["'", "apostrophe: 1'000"], ["space", "space: 1 000"]]],
  dates: ["1/2/2024 is", [["day_first", "1 February"], ["month_first", "January 2"]]],
  channels: ["Pictures: colours", [["1", "grey"], ["3", "RGB"]]],
};

const texts = {
  delimiter: ["Between cells", { placeholder: "found out", list: ["comma", "semicolon", "tab", "pipe", "space"], title: "One character, or its name" }],
  preamble: ["Lines before the table", { placeholder: "found out", type: "number", min: "0", max: "1000" }],
  comment: ["Skipped lines begin with", { placeholder: "found out", maxlength: "4", title: "One character, or none" }],
  missing: ["Words for missing cells", { placeholder: "NA, null, …", title: "With commas between; a comma alone: empty cells only" }],
  size: ["Pictures: size", { placeholder: "64x64", pattern: "[0-9]+x[0-9]+", title: "HEIGHTxWIDTH" }],
  table: ["JSON: the table", { placeholder: "its name" }],
};

const dialectKeys = ["encoding", "delimiter", "quote", "header", "row_names", "preamble", "comment", "decimal", "thousands", "missing", "dates"];
const otherKeys = ["size", "channels", "table"];

function controlOf(id, key) {
  if (choices[key]) {
    const [label, words] = choices[key];
    return { label, control: h("select", { id }, h("option", { value: "" }, "found out"), words.map(([word, said]) => h("option", { value: word }, said))) };
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
    // Marks the options that a refusal names, as "?decimal=", and goes to the first one; "": none.
    ask(refusal) {
      const named = [...refusal.matchAll(/\?([a-z_]+)=/g)].map(([, key]) => fields.get(key)).filter(Boolean);
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

// What was found, and why.
export function dialectTable(dialect) {
  const body = h("tbody");
  const shown = dialectKeys.filter((key) => dialect[key] !== undefined && !(key === "dates" && dialect[key] === null));
  replace(body, shown.map((key) => h("tr", null, h("th", { scope: "row" }, (choices[key] ?? texts[key])[0]), h("td", null, wordsOf(key, dialect[key])), h("td", { class: "muted" }, dialect.evidence?.[key] ?? ""))));
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "What was found" }, h("table", { class: "compact" },
    h("thead", { class: "hidden" }, h("tr", null, ["Option", "Value", "Evidence"].map((word) => h("th", { scope: "col" }, word)))), body));
}
