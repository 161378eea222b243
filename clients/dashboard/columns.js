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

// The time so many rows after the last of `cells`, written as these are; null where their step is none, or not known.
export function timeAfter(cells, rows) {
  const [before, last] = cells.slice(-2);
  if (typeof last === "number") return typeof before === "number" ? last + rows * (last - before) : null;
  const [from, to] = [before, last].map((cell) => new Date(1000 * secondsOf(String(cell).replace(" ", "T"))));
  if (!(to > from) || /^\d\d:/.test(last)) return null;
  const months = 12 * (to.getUTCFullYear() - from.getUTCFullYear()) + to.getUTCMonth() - from.getUTCMonth();
  const isMonthly = months > 0 && from.getUTCDate() === to.getUTCDate() && to.getUTCDate() <= 28 && to - from >= 28 * 86400e3;
  const time = new Date(to);
  if (isMonthly) time.setUTCMonth(to.getUTCMonth() + rows * months);
  else if (months > 0 && to - from >= 28 * 86400e3) return null; // ends of months
  else time.setTime(to.getTime() + rows * (to - from));
  return time.toISOString().slice(0, last.replace(/Z$/, "").length).replace("T", last[10] ?? "T");
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

// The job of the button "Train". task: "" is what the data say. types: by the index of a column, one of columnTypes where it is not to be as it was read.
export function firstJob(dataset, target, types, task = "") {
  const data = { dataset: dataset.name };
  if (target !== null) data.target = dataset.columns[target].name ?? target;
  if (task) data.task = task;
  if (types.size) data.columns = Object.fromEntries([...types].map(([i, type]) => [columnName(dataset.columns[i], i), { type }]));
  return { name: dataset.name, data, model: "auto" };
}

const seriesWindow = 24; // rows of an example, where there are enough

// The column of words that tells series apart where times come again: each word has as many rows as there are times, or
// fewer; or null.
function seriesGroup({ columns, rows }, time) {
  const times = columns.find(({ name }) => name === time)?.distinct ?? rows;
  if (times >= Math.min(rows, 10000)) return null; // the daemon counts no further
  const group = columns.find(({ name, type, missing, categories = [] }) => name && type === "category" && !missing && categories.length > 1 && categories.every(({ count }) => count <= times));
  return group?.name ?? null;
}

// The job of the button "Forecast": windows of the target's own past, so that nothing has to be known of the rows to come.
export function seriesJob(dataset, target, time, types) {
  const job = firstJob(dataset, target, types, "regression");
  const group = seriesGroup(dataset, time);
  const series = group ? Math.min(...dataset.columns.find(({ name }) => name === group).categories.map(({ count }) => count)) : dataset.rows;
  const length = Math.max(1, Math.min(seriesWindow, Math.floor(series / 10) - 2));
  return { ...job, data: { ...job.data, time, features: [columnName(dataset.columns[target], target)], window: { length, ...(group && { group }) } } };
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

// What a field holds as a cell to predict; a text that is no number goes as it is, so that the daemon says so.
export function cellOf(column, text) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  if (column.type !== "number" || Number.isNaN(Number(trimmed))) return text;
  return Number(trimmed);
}
