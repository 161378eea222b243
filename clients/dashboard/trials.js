// trials.js: the trials of a sweep as numbers for tables and charts, without their drawing.

import { integer, isPlain, metricNames, metricWords, number, seconds, value } from "./format.js";
import { pointerSteps } from "./json.js";
import { axisOf } from "./space.js";

const splits = { train: "Training", validation: "Validation", test: "Test" };
const timings = {
  seconds: { word: "Training time", format: seconds },
  epoch_microseconds: { word: "Time of an epoch", format: (v) => seconds(value(v) === null ? null : value(v) / 1e6) },
  samples_per_second: { word: "Rows a second", format: number },
};

// "validation.loss" -> {word: "Validation loss", format}; "test.precision" -> "Test precision of yes", where `positive` of two
// classes is known.
export function metricOf(name, positive) {
  if (Object.hasOwn(timings, name ?? "")) return timings[name];
  const [split, which] = (name ?? "").split(".");
  const metric = Object.hasOwn(metricNames, which ?? "") ? metricNames[which] : null;
  if (!metric || !Object.hasOwn(splits, split)) return { word: name ?? "Metric", format: number };
  const said = positive ? metricWords(metric, { positive })[0] : metric.word;
  const word = /^[A-Z][a-z]/.test(said) ? said[0].toLowerCase() + said.slice(1) : said;
  return { word: `${splits[split]} ${word}`, format: metric.format };
}

// The best of all metrics so far; null before the first. mode: "min" or "max".
export function runningBest(metrics, mode) {
  let best = null;
  return metrics.map((metric) => {
    if (Number.isFinite(metric) && (best === null || (mode === "max" ? metric > best : metric < best))) best = metric;
    return best;
  });
}

// At most `most` items of a list that begins with the best: those of its first half as they are, the others evenly.
export function thin(items, most) {
  if (items.length <= most) return items;
  const kept = Math.floor(most / 2);
  const rest = most - kept;
  const step = (items.length - kept) / rest;
  return [...items.slice(0, kept), ...Array.from({ length: rest }, (_, i) => items[kept + Math.floor(i * step)])];
}

// The shortest ends of pointers that tell them apart: ["/optimizer/lr", …] -> ["lr", …]. None begins with an index.
export function shortNames(pointers) {
  const steps = pointers.map(pointerSteps);
  const end = (i, length) => steps[i].slice(-length).join("/");
  return pointers.map((_, i) => {
    for (let length = 1; length < steps[i].length; length++) {
      const shared = steps.some((other, k) => k !== i && end(k, length) === end(i, length));
      if (!shared && !/^\d+$/.test(steps[i].at(-length))) return end(i, length);
    }
    return steps[i].join("/");
  });
}

const logSpread = 30; // numbers that lie so far apart are shown by their logarithms

const spreads = (least, most) => least > 0 && most >= logSpread * least;

const mostTicks = 12;

// Ticks at numbers, but for those that would touch the one before.
function ticksAt(numbers, share, text) {
  const ticks = [];
  for (const v of [...new Set(numbers)].sort((a, b) => a - b)) if (!ticks.length || share(v) >= ticks.at(-1).share + 0.7 / mostTicks) ticks.push({ share: share(v), text: text(v) });
  return ticks;
}

// How numbers from `least` to `most` lie along a line: share(v) is 0 … 1, null where v has no place. ticks: at these
// numbers, or at the ends and between them.
export function numberScale({ least, most, log = false, whole = false, format = number, ticks }) {
  const text = isPlain(format) ? (v) => number(v, 3) : format;
  const along = log ? Math.log : (v) => v;
  const back = log ? Math.exp : (v) => v;
  const [from, to] = [along(least), along(most)];
  const at = (v) => (Number.isFinite(v) && !(log && v <= 0) ? v : null);
  const share = (v) => (at(v) === null ? null : to > from ? Math.min(1, Math.max(0, (along(v) - from) / (to - from))) : 0.5);
  const middle = whole ? Math.round(back((from + to) / 2)) : back((from + to) / 2);
  return { log, whole, words: null, at, share, ticks: ticksAt(ticks ?? [least, middle, most], share, text) };
}

// Words, objects and all else: each distinct value has its number, in the order given.
function wordScale(items) {
  const words = [...new Set(items.map((item) => JSON.stringify(item)))];
  const number = new Map(words.map((word, i) => [word, i]));
  const shown = words.map((word) => word.replace(/^"(.*)"$/, "$1"));
  const at = (v) => number.get(JSON.stringify(v)) ?? null;
  const share = (i) => (i === null ? null : words.length > 1 ? i / (words.length - 1) : 0.5);
  const step = Math.ceil(words.length / mostTicks);
  return {
    log: false,
    whole: true,
    words: shown,
    at,
    share: (v) => share(at(v)),
    ticks: shown.map((text, i) => ({ share: share(i), text })).filter((_, i) => i % step === 0),
  };
}

// The scale of one axis of a space, in the daemon's form: {log, whole, words: text of each value or null where they are
// numbers, at(value): the coordinate in a chart, share(value), ticks: [{share, text}]}.
export function scaleOf(json) {
  const axis = axisOf(json);
  if (!axis) return wordScale([]);
  if (!axis.items.every((item) => typeof item === "number")) return wordScale(axis.items);
  const [least, most] = [Math.min(...axis.items), Math.max(...axis.items)];
  const isList = axis.kind === "values";
  return numberScale({ least, most, log: axis.isLog || (isList && spreads(least, most)), whole: axis.isWhole || (isList && axis.items.every(Number.isInteger)), ticks: isList ? axis.items : undefined });
}

// The fields of a sweep that vary: [{pointer, name, scale}].
export function parametersOf(space) {
  const names = shortNames(Object.keys(space));
  return Object.entries(space).map(([pointer, json], i) => ({ pointer, name: names[i], scale: scaleOf(json) }));
}

// Whether metrics want a log scale: all above 0, and far apart.
export const wantsLog = (metrics) => metrics.length > 0 && spreads(metrics.reduce((a, b) => Math.min(a, b)), metrics.reduce((a, b) => Math.max(a, b)));

// How far a sweep is: {fraction, words}. asha has as many trainings as its promotions make, and at most `total`.
export function progressOf({ status, search, stopped, progress: { done, total, fraction } }) {
  if (status === "succeeded" && !stopped) return { fraction: 1, words: integer(done) };
  return { fraction, words: `${integer(done)} of ${search === "asha" ? "at most " : ""}${integer(total)}` };
}

// A value of a trial as text.
export const valueText = (v) => (typeof v === "number" ? number(v) : typeof v === "string" ? v : v === undefined ? "–" : JSON.stringify(v));

// "0.113 ± 0.004": plain numbers deviate by two digits, others in their own format.
export function metricText(trial, format) {
  const deviation = value(trial.deviation);
  if (deviation === null) return format(trial.metric);
  return `${format(trial.metric)} ± ${isPlain(format) ? number(deviation, 2) : format(deviation)}`;
}
