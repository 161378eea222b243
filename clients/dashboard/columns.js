// columns.js: what the columns of a dataset say: their values in a word, a histogram of some rows, and the spec
// of a first job.

import { integer, number, percent } from "./format.js";

const targetNames = ["target", "label", "class", "y", "survived", "outcome", "species"];

// A column goes by its name, or by its index where the table has no name for it.
export const columnName = (column, index) => column.name ?? String(index);

// Seconds since 1970 as a date, or, of a column of times of day, as a time.
function moment(seconds, ofDay) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return number(seconds);
  const [day, time] = date.toISOString().split("T");
  return !ofDay ? day : seconds === 86400 ? "24:00:00" : time.slice(0, 8);
}

// Its least and greatest value, or its commonest words.
export function valueWords(column) {
  if (column.type === "text") return "text, not learnt from";
  if (column.type === "category") return (column.categories ?? []).slice(0, 3).map(({ value }) => value).join(", ");
  if (column.min === null) return "–";
  const say = column.type === "date" ? (v) => moment(v, column.form === "time") : (v) => (column.unit ? `${number(v)} ${column.unit}` : number(v));
  return column.min === column.max ? say(column.min) : `${say(column.min)} … ${say(column.max)}`;
}

export const missingWords = (column, rows) => (column.missing ? `${integer(column.missing)} (${percent(column.missing / rows, 1)})` : "0");

// A date of a response as seconds since 1970; a time of day since midnight.
const secondsOf = (text) => Date.parse(/^\d\d:/.test(text) ? `1970-01-01T${text}Z` : text.includes("T") ? `${text}Z` : text) / 1000;

// Whether cells of times, dates or numbers, never descend; a missing one is in no order.
export function inTime(cells) {
  const times = cells.map((cell) => (typeof cell === "number" ? cell : typeof cell === "string" ? secondsOf(cell) : NaN));
  return times.every((time, i) => Number.isFinite(time) && (i === 0 || time >= times[i - 1]));
}

// Bars of a column: {bars: [{label, count}], of: rows counted}. Words are counted in all rows, numbers in those
// that were fetched; null where there is nothing to count.
export function histogram(column, cells, most = 12) {
  if (column.type === "text") return null;
  if (column.type === "category") {
    const bars = (column.categories ?? []).slice(0, most).map(({ value, count }) => ({ label: value, count }));
    return bars.length ? { bars, of: null } : null;
  }
  const values = cells.filter((cell) => cell !== null && cell !== undefined).map((cell) => (column.type === "date" ? secondsOf(cell) : cell)).filter(Number.isFinite);
  if (values.length < 2) return null;
  const least = Math.min(...values), range = Math.max(...values) - least;
  if (!(range > 0) || !Number.isFinite(range)) return null;
  const whole = column.integer && column.type === "number"; // a bar has whole numbers alone
  const width = whole ? Math.ceil((range + 1) / most) : range / most;
  const bins = whole ? Math.ceil((range + 1) / width) : most;
  const bars = Array.from({ length: bins }, (_, i) => {
    const from = least + i * width;
    return { label: valueWords({ ...column, min: from, max: Math.min(least + range, whole ? from + width - 1 : from + width) }), count: 0 };
  });
  for (const value of values) bars[Math.min(bins - 1, Math.floor((value - least) / width))].count++;
  return { bars, of: values.length };
}

// The index of the column that is most likely to be the target.
export function likelyTarget(columns) {
  const named = columns.findIndex(({ name }) => targetNames.includes((name ?? "").toLowerCase()));
  if (named >= 0) return named;
  for (let i = columns.length - 1; i > 0; i--) if (columns[i].type !== "text") return i;
  return 0;
}

// The column that orders a table as a series whose target is column `at`: its first date, beside a number; or null.
export function seriesTime(columns, at) {
  const time = columns.find(({ name, type, form }, i) => i !== at && type === "date" && form !== "time" && name);
  return time && columns[at]?.type === "number" ? time.name : null;
}

// The types that a column may be taken for.
export const columnTypes = ["number", "category", "date", "ignore"];

// The job of the button "Train". types: by the index of a column, one of columnTypes where it is not to be as it was read.
export function firstJob(dataset, target, types) {
  const data = { dataset: dataset.name };
  if (target !== null) data.target = dataset.columns[target].name ?? target;
  if (types.size) data.columns = Object.fromEntries([...types].map(([i, type]) => [columnName(dataset.columns[i], i), { type }]));
  return { name: dataset.name, data, model: "auto" };
}

// The index of the target; -1 where there is none. A number is an index. A string is a name, or digits that an earlier
// version stored for an index.
export function targetIndex(columns, data) {
  const target = data.target ?? -1;
  if (typeof target === "string") {
    const named = columns.findIndex(({ name }) => name === target);
    if (named >= 0 || !/^-?\d+$/.test(target)) return named;
  }
  const index = Number(target);
  return index < 0 ? columns.length + index : index;
}

// Whether a pattern means the column: its name; what is the name of no column is a glob, of * and ? alone.
function fits(pattern, name, names) {
  if (names.includes(pattern)) return pattern === name;
  const source = pattern.replace(/[\\^$.|+()[\]{}]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
  return new RegExp(`^${source}$`, "s").test(name);
}

// What a column is in a job of this data: an exact name goes before a glob.
function typeIn(column, name, data, names) {
  const rules = data.columns ?? {};
  const rule = rules[name] ?? rules[Object.keys(rules).find((pattern) => fits(pattern, name, names))];
  return !rule?.type || rule.type === "auto" ? column.type : rule.type;
}

// The columns that a job of this data asks for, to predict: [{column, index}], each of the type that it has there.
export function featureColumns(columns, data) {
  const target = targetIndex(columns, data), names = columns.map(columnName);
  const typed = columns.map((column, index) => ({ column: { ...column, type: typeIn(column, names[index], data, names) }, index }));
  return typed.filter(({ column, index }) => {
    const name = names[index];
    if (column.type === "text" || column.type === "ignore" || index === target) return false;
    if (data.features?.length && !data.features.some((pattern) => fits(pattern, name, names))) return false;
    return !(data.exclude ?? []).some((pattern) => fits(pattern, name, names));
  });
}

// What a field holds as a cell to predict; a text that is no number goes as it is, so that the daemon says so.
export function cellOf(column, text) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  if (column.type !== "number" || Number.isNaN(Number(trimmed))) return text;
  return Number(trimmed);
}
