// format.js: numbers and times as text. An absent value is "–".

const none = "–";

// A number of a response: NaN and the infinities, which JSON lacks, are strings. Anything else is null.
export function value(json) {
  if (json === "NaN") return NaN;
  if (json === "Infinity") return Infinity;
  if (json === "-Infinity") return -Infinity;
  return typeof json === "number" ? json : null;
}

// The page is in English, and so are its numbers: a comma between thousands, a point before the decimals.
const inEnglish = (options) => new Intl.NumberFormat("en-US", options).format;
const grouped = inEnglish({ maximumFractionDigits: 0 });
// Numbers of five digits before the point, and more, are grouped: 2024 is a year. Not every browser has "min2".
const isGrouped = (n) => Math.round(Math.abs(n)) >= 1e4;
const written = [false, true].map((useGrouping) => Array.from({ length: 21 }, (_, digits) => inEnglish({ maximumSignificantDigits: Math.max(1, digits), useGrouping })));
const significant = (n, digits) => written[Number(isGrouped(n))][digits](n);

export function integer(json) {
  const n = value(json);
  return n === null ? none : Number.isFinite(n) ? grouped(n) : String(n);
}

const long = 1e12; // from here on, and below `short`, a number is a power of ten
const short = 1e-4;
const powerOfTen = (n, digits) => n.toExponential(digits - 1).replace(/\.?0*e\+?/, "e");

// At least `digits` significant digits, and all before the point: 2024, 1,454,870; very small and very large numbers as
// powers of ten.
export function number(json, digits = 4) {
  const n = value(json);
  if (n === null) return none;
  if (!Number.isFinite(n)) return n !== n ? "NaN" : n > 0 ? "∞" : "−∞";
  if (n === 0) return "0";
  const size = Math.abs(n);
  if (size >= long || size < short) return powerOfTen(n, digits);
  return significant(n, Math.max(digits, Math.floor(Math.log10(size)) + 1));
}

// Whether a formatter gives plain numbers, without a unit.
export const isPlain = (format) => /^[\d.]+$/.test(format(0.5));

// The ticks of an axis, all in one notation: with as many decimals as one of them needs, or, where one would be long, as
// powers of ten. Those of a log scale have their own decimals. null: a tick without a text.
export function tickTexts(ticks, isLog = false) {
  const sizes = ticks.filter((tick) => tick).map(Math.abs);
  const text = (write) => ticks.map((tick) => (tick === null || tick === undefined ? "" : tick === 0 ? "0" : write(tick)));
  if (sizes.some((size) => size >= 1e9 || size < short)) return text((tick) => powerOfTen(tick, 12));
  if (isLog) return text((tick) => significant(tick, 12));
  const decimals = Math.max(0, ...sizes.map((size) => (String(Number(size.toPrecision(12))).split(".")[1] ?? "").length));
  return text(inEnglish({ minimumFractionDigits: decimals, maximumFractionDigits: decimals, useGrouping: sizes.some(isGrouped) }));
}

// 0.997 -> "99.70 %"; 0 and 1 have no decimals.
export function percent(share, digits = 1) {
  const n = value(share);
  if (n === null) return none;
  return Number.isFinite(n) ? `${(100 * n).toFixed(n === 0 || n === 1 ? 0 : digits)}\u00a0%` : String(n);
}

// A measured time in a unit of its size: 1.05 µs, 42 ms, 3.2 s, 4 min 10 s.
export function seconds(time) {
  const t = value(time);
  if (t === null) return none;
  if (!Number.isFinite(t)) return String(t);
  if (t === 0) return "0 s";
  if (t < 1e-3) return `${Number((t * 1e6).toPrecision(3))} µs`;
  if (t < 1) return `${Number((t * 1e3).toPrecision(3))} ms`;
  if (t < 60) return `${Number(t.toPrecision(3))} s`;
  return duration(t);
}

// A time to come or past: "under 1 s", "42 s", "4 min 10 s", "3 h 12 min", "2 d 4 h".
export function duration(time) {
  const t = value(time);
  if (t === null) return none;
  if (t < 1) return "under 1 s";
  if (t < 60) return `${Math.round(t)} s`;
  const total = Math.round(t);
  const parts = (large, largeWord, small, smallWord) => (small ? `${large} ${largeWord} ${small} ${smallWord}` : `${large} ${largeWord}`);
  if (total < 3600) return parts(Math.floor(total / 60), "min", total % 60, "s");
  const minutes = Math.round(total / 60);
  if (minutes < 24 * 60) return parts(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(minutes / 60);
  return parts(Math.floor(hours / 24), "d", hours % 24, "h");
}

// When a job that waits will start, as far as the daemon's estimates say.
export const startWords = (time) => (value(time) === null ? "not known" : `in ${duration(time)}`);

export function bytes(count) {
  const n = value(count);
  if (n === null) return none;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let shown = n;
  while (shown >= 1024 && unit < units.length - 1) {
    shown /= 1024;
    unit++;
  }
  return `${unit ? Number(shown.toPrecision(3)) : shown} ${units[unit]}`;
}

// The time since then: "now", "42 s", "5 min", "3 h", "2 d".
export function age(iso, now = Date.now()) {
  if (!iso) return none;
  const t = (now - Date.parse(iso)) / 1000;
  if (t < 2) return "now";
  if (t < 60) return `${Math.floor(t)} s`;
  if (t < 3600) return `${Math.floor(t / 60)} min`;
  if (t < 86400) return `${Math.floor(t / 3600)} h`;
  return `${Math.floor(t / 86400)} d`;
}

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function dateTime(iso) {
  return iso ? dates.format(new Date(iso)) : none;
}

const states = {
  queued: "Queued",
  running: "Running",
  pausing: "Pausing",
  paused: "Paused",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
};

export const stateNames = Object.keys(states);

export function stateWord(state) {
  return states[state] ?? state;
}

// What a job ended of before its last epoch.
const stops = { early_stopping: "Early stopping", max_seconds: "Time limit" };

export function stopWord(stopped) {
  return stops[stopped] ?? stopped;
}

export const isEnded = (job) => job.status === "succeeded" || job.status === "failed" || job.status === "cancelled";

// Where the id of a job or of a sweep is listed: "jobs" or "sweeps".
export const listOf = (id) => (id.startsWith("swp_") ? "sweeps" : "jobs");

// A tag as it is shown: a job of a sweep has the sweep's id.
export const tagWord = (tag) => (listOf(tag) === "sweeps" ? `sweep …${tag.slice(-8)}` : tag);

// A job's name, or the end of its id.
export const jobName = (job) => job.name || `…${job.id.slice(-8)}`;

// "Precision of yes", "Precision, mean of the classes"; other units stand beside the word: [word, unit].
export function metricWords({ word, unit }, metrics) {
  if (typeof unit !== "function") return [word, unit];
  const said = unit(metrics);
  return [said.startsWith("of ") ? `${word} ${said}` : `${word}, ${said}`, ""];
}

const ofClass = ({ positive }) => (positive === undefined ? "mean of the classes" : `of ${positive}`);

// The scalar metrics, in the order of display: word, formatter, meaning, which some have of the metrics.
export const metricNames = {
  loss: { word: "Loss", format: (v) => number(v, 5), unit: "" },
  accuracy: { word: "Accuracy", format: (v) => percent(v, 2), unit: "share of rows" },
  error: { word: "Error rate", format: (v) => percent(v, 2), unit: "share of rows" },
  precision: { word: "Precision", format: (v) => percent(v, 2), unit: ofClass },
  recall: { word: "Recall", format: (v) => percent(v, 2), unit: ofClass },
  f1: { word: "F1", format: (v) => number(v, 4), unit: ofClass },
  roc_auc: { word: "ROC AUC", format: (v) => number(v, 4), unit: "0.5 is chance, 1 is perfect" },
  mse: { word: "MSE", format: (v) => number(v, 5), unit: "target's unit squared" },
  rmse: { word: "RMSE", format: (v) => number(v, 5), unit: "target's unit" },
  mae: { word: "MAE", format: (v) => number(v, 5), unit: "target's unit" },
  r2: { word: "R²", format: (v) => number(v, 4), unit: "1 is perfect" },
  rows: { word: "Rows", format: integer, unit: "" },
};
