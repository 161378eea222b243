// cells.js: the cells of a study as numbers and words for tables and charts, without their drawing.

import { integer, number, value } from "./format.js";
import { pointerSteps } from "./json.js";
import { metricOf, shortNames, valueText } from "./trials.js";

const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const isScalar = (v) => v === null || typeof v !== "object";
const times = ["seconds", "epoch_microseconds", "samples_per_second"];

// A text that is the same for equal values, whatever the order of their members.
const textOf = (v) => JSON.stringify(v, (_, each) => (isObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each));

// Whether a sweep over this space has a study: each field has a list, or is a range of whole numbers.
export const isStudy = (space) => Object.values(space).every((axis) => Object.hasOwn(axis, "values") || Object.hasOwn(axis, "int_uniform"));

// {name, words} of a list of values; lists of layers are told apart by their sizes.
function wordsOf(name, values) {
  const distinct = (words) => new Set(words).size === words.length;
  if (values.every(isScalar)) return { name, words: values.map(valueText) };
  if (values.every((layers) => Array.isArray(layers) && layers.every(isObject))) {
    const widths = values.map((layers) => layers.map((layer) => layer.out_features ?? layer.out_channels).filter((width) => width !== undefined));
    const hidden = widths.map((each) => each.slice(0, -1));
    if (hidden.every((each) => each.length && each.every((width) => width === each[0]))) {
      const words = hidden.map((each) => `${each[0]} × ${each.length}`);
      if (distinct(words)) return { name: "nodes × depth", words };
    }
    const counts = widths.map((each) => `${each.length} layers`);
    if (distinct(counts)) return { name, words: counts };
    const joined = widths.map((each) => each.join("-"));
    if (distinct(joined)) return { name, words: joined };
  }
  const types = values.map((each) => each?.type);
  if (types.every((type) => typeof type === "string") && distinct(types)) return { name, words: types };
  return { name, words: values.map((_, i) => `${name} ${i + 1}`) };
}

// The axes of a study: [{pointers, name, words: of each level, keys, numbers: of each level or null, isWords}]. The
// sweep's space has the values of all fields that move together.
export function axesOf(space, axes) {
  const names = new Map(axes.flatMap(({ pointers }) => pointers).map((pointer, i, all) => [pointer, shortNames(all)[i]]));
  return axes.map(({ pointers, values }) => {
    const columns = pointers.map((pointer, p) => space[pointer]?.values ?? (p === 0 ? values : []));
    const parts = pointers.map((pointer, p) => wordsOf(names.get(pointer), columns[p]));
    return {
      pointers,
      name: parts.map((part) => part.name).join(" × "),
      words: values.map((_, level) => parts.map((part) => part.words[level]).join(" × ")),
      keys: values.map((_, level) => textOf(columns.map((column) => column[level]))),
      numbers: values.every((v) => typeof v === "number") ? values : null,
      isWords: values.length > 0 && values.every((v) => typeof v === "string"),
      isScalar: pointers.length === 1 && values.every(isScalar),
    };
  });
}

// The cells as numbers, by trial; at: the level of each axis.
export function cellsOf(axes, cells) {
  return cells
    .map((cell) => ({
      trial: cell.trial,
      at: axes.map(({ pointers, keys }) => keys.indexOf(textOf(pointers.map((pointer) => cell.values[pointer])))),
      outcome: cell.outcome,
      parameters: cell.parameters,
      mean: value(cell.mean),
      deviation: value(cell.deviation),
      each: cell.each.map(value).filter(Number.isFinite),
      epochSeconds: value(cell.epoch_microseconds) === null ? null : value(cell.epoch_microseconds) / 1e6,
      testSeconds: value(cell.test_seconds),
      trainSeconds: value(cell.train_seconds),
    }))
    .filter(({ at }) => at.every((level) => level >= 0))
    .sort((a, b) => a.trial - b.trial);
}

// What the metric is drawn over: parameters where they differ, else the first axis of numbers; null: nothing is.
export function xOf(axes, cells) {
  const sizes = new Set(cells.map(({ parameters }) => parameters).filter((count) => count > 0));
  if (sizes.size > 1) return { axis: -1, name: "parameters", of: (cell) => cell.parameters, words: (x) => `${rounded(x)} parameters` };
  const axis = axes.findIndex(({ numbers }) => numbers && numbers.length > 1);
  if (axis < 0) return null;
  return { axis, name: axes[axis].name, of: (cell) => axes[axis].numbers[cell.at[axis]], words: (x) => `${axes[axis].name} ${rounded(x)}` };
}

// The axes that may be lines of the chart, the best first: devices, words, others. An axis whose levels have one x each is none.
export function lineAxes(axes, cells, x) {
  const rank = (a) => (axes[a].pointers[0] === "/device" ? 0 : axes[a].isWords ? 1 : 2);
  const spreads = (a) => axes[a].words.some((_, level) => new Set(cells.filter((cell) => cell.at[a] === level).map(x.of)).size > 1);
  return axes.map((_, a) => a).filter((a) => x && a !== x.axis && axes[a].isScalar && spreads(a)).sort((a, b) => rank(a) - rank(b) || a - b);
}

// A level by itself: "cpu", "batch_size 50".
export const levelWords = ({ name, words, isWords }, level) => (isWords ? words[level] : `${name} ${words[level]}`);

// Of cells that share an x the geometric mean, as the daemon has it for crossovers; of numbers that may be 0 or less the arithmetic.
function meanOf(list) {
  if (list.length === 1) return list[0];
  const isRatio = list.every((v) => v > 0);
  const mean = list.reduce((sum, v) => sum + (isRatio ? Math.log(v) : v), 0) / list.length;
  return isRatio ? Math.exp(mean) : mean;
}

// The metric over x: [{word, x, mean, each}] for each level of the axis, or one for all where it is null. All share
// one x, which ascends and holds a place for each mean and each repeat; what is not of a line is null there.
export function linesOf(axes, cells, x, axis) {
  const levels = axis === null ? [null] : axes[axis].words.map((_, level) => level);
  const entries = [];
  levels.forEach((level, line) => {
    const sizes = new Map();
    for (const cell of cells) {
      if (!Number.isFinite(cell.mean) || (level !== null && cell.at[axis] !== level)) continue;
      sizes.set(x.of(cell), [...(sizes.get(x.of(cell)) ?? []), cell.mean]);
      for (const y of cell.each) entries.push({ line, x: x.of(cell), each: y });
    }
    for (const [size, means] of sizes) entries.push({ line, x: size, mean: meanOf(means) });
  });
  entries.sort((a, b) => a.x - b.x);
  const shared = entries.map((entry) => entry.x);
  const column = (line, name) => entries.map((entry) => (entry.line === line && entry[name] !== undefined ? entry[name] : null));
  return levels
    .map((level, line) => ({ word: level === null ? "mean" : levelWords(axes[axis], level), index: line, x: shared, mean: column(line, "mean"), each: column(line, "each") }))
    .filter(({ mean }) => mean.some((v) => v !== null));
}

// Two digits: what a crossover is known to.
const rounded = (v) => (v >= 10 ? integer(Number(v.toPrecision(2))) : number(v, 2));

// Over x, ascending: by what factor the metric of one level is that of another, of cells that are otherwise the same.
function ratios(cells, x, axis, [first, second]) {
  const others = (cell) => cell.at.filter((_, a) => a !== axis).join();
  const firsts = new Map(cells.filter((cell) => cell.at[axis] === first && cell.mean > 0).map((cell) => [others(cell), cell]));
  const sizes = new Map();
  for (const cell of cells) {
    const other = cell.at[axis] === second && cell.mean > 0 && firsts.get(others(cell));
    if (other) sizes.set(x.of(cell), [...(sizes.get(x.of(cell)) ?? []), cell.mean / other.mean]);
  }
  return [...sizes].sort(([a], [b]) => a - b).map(([at, list]) => ({ x: at, ratio: meanOf(list) }));
}

const mostCrossings = 2; // of two levels; more of them are noise

// The crossovers of an axis that a chart marks.
export const clearCrossovers = (crossovers, axis) => crossovers.filter((each) => each.axis === axis && crossovers.filter((other) => other.axis === axis && other.levels.join() === each.levels.join()).length <= mostCrossings);

// A sentence for each pair of levels of an axis of words: where they cross, with what the repeats say of it in brackets.
export function crossingWords({ study, axes, cells, x }) {
  const sentences = [];
  const isTime = times.includes(study.metric);
  const word = isTime ? "faster" : "better";
  axes.forEach((axis, a) => {
    if (!axis.isWords || !x || a === x.axis) return;
    for (let first = 0; first < axis.words.length; first++)
      for (let second = first + 1; second < axis.words.length; second++) {
        const over = ratios(cells, x, a, [first, second]);
        if (!over.length) continue;
        const names = [axis.words[first], axis.words[second]];
        const better = ({ ratio }) => (ratio > 1 === (study.mode === "min") ? 0 : 1);
        let side = better(over[0]);
        const crossings = study.crossovers.filter((each) => each.axis === a && each.levels[0] === first && each.levels[1] === second).sort((one, two) => one.at - two.at);
        if (crossings.length > mostCrossings) {
          sentences.push(`${names.join(" and ")} cross ${integer(crossings.length)} times, the first time at ${x.words(crossings[0].at)}: neither is clearly ${word}.`);
          continue;
        }
        if (!crossings.length) {
          const factors = over.map(({ ratio }) => Math.max(ratio, 1 / ratio));
          const [least, most] = [Math.min(...factors), Math.max(...factors)].map((factor) => number(factor, 2));
          const times_ = isTime ? `: ${least === most ? least : `${least} to ${most}`} times as fast as ${names[1 - side]}` : ` than ${names[1 - side]}`;
          sentences.push(`${names[side]} is ${word} throughout${times_}.`);
          continue;
        }
        const parts = crossings.map(({ at, interval }, i) => {
          const place = `${x.words(at)}${interval ? ` [${rounded(interval[0])} to ${rounded(interval[1])}]` : ""}`;
          const part = i === 0 ? `${names[side]} is ${word} below ${place}` : `${names[side]} from there to ${place}`;
          side = 1 - side;
          return part;
        });
        sentences.push(`${[...parts, `${names[side]} above`].join(", ")}.`);
      }
  });
  return sentences;
}

// "+12 %", "−3.4 %"; from ten times on as a factor: "× 51", "÷ 2,300".
export function perCentText(perCent) {
  const v = value(perCent);
  if (!Number.isFinite(v)) return "–";
  if (v >= 900) return `×\u00a0${rounded(1 + v / 100)}`;
  if (v <= -90) return v <= -100 ? "0" : `÷\u00a0${rounded(100 / (100 + v))}`;
  const size = Math.abs(v);
  return `${v > 0 ? "+" : v < 0 ? "−" : ""}${size < 10 ? size.toFixed(1) : integer(size)}\u00a0%`;
}

const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]; // per cent
const mostSteps = 6;

// Ratios along a line, even in the logarithm, 1 within: {share(ratio), ticks: [{share, text}]}. Ticks of a narrow
// range are per cent, of a wide one factors.
export function ratioScale(ratios_) {
  const seen = ratios_.filter((ratio) => ratio > 0 && Number.isFinite(ratio));
  let [least, most] = [Math.min(1, ...seen), Math.max(1, ...seen)];
  if (most / least < 1.002) [least, most] = [least / 1.001, most * 1.001];
  const air = (most / least) ** 0.04;
  [least, most] = [least < 1 ? least / air : least, most > 1 ? most * air : most];
  const share = (ratio) => Math.min(1, Math.max(0, Math.log(ratio / least) / Math.log(most / least)));
  const within = (ratio) => ratio >= least && ratio <= most;
  const ticks = [];
  if (most / least < 3) {
    const step = steps.find((each) => (100 * (most - least)) / each <= mostSteps) ?? 50;
    for (let i = Math.ceil((100 * (least - 1)) / step); 1 + (i * step) / 100 <= most; i++) ticks.push({ share: share(1 + (i * step) / 100), text: perCentText(Number((i * step).toFixed(1))).replace(".0", "") });
    return { share, ticks };
  }
  const decades = Math.log10(most / least);
  const each = Math.ceil(decades / mostSteps);
  const factors = decades > 2 ? Array.from({ length: 41 }, (_, i) => 10 ** ((i - 20) * each)) : [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
  for (const factor of factors) if (within(factor)) ticks.push({ share: share(factor), text: factor >= 1 ? `× ${number(factor, 1)}` : `÷ ${number(1 / factor, 1)}` });
  return { share, ticks };
}

const ratioOf = (perCent) => (value(perCent) === null ? NaN : 1 + perCent / 100);

// The ratios that a scale of effects shows: whiskers that are far longer than the bars are cut.
export function rangeOf(rows) {
  const ratios_ = rows.map(({ ratio }) => ratio);
  const [least, most] = [Math.min(1, ...ratios_), Math.max(1, ...ratios_)];
  const air = Math.max(most / least, 1.5);
  const cut = (ratio) => Math.min(most * air, Math.max(least / air, ratio));
  return [...ratios_, ...rows.flatMap(({ interval }) => interval ?? []).map(cut)];
}

// What each axis does: [{name, against, rows: [{word, text, ratio, interval: ratios or null, verdict}], cells}]. verdict: "good",
// "bad", or "open" where the interval does not tell.
export function effectsOf(study, axes) {
  return axes.map((axis, a) => {
    const mine = study.effects.filter((effect) => effect.axis === a && value(effect.per_cent) !== null);
    const rows = mine.map(({ level, per_cent: perCent, interval }) => {
      const isOpen = !interval || (interval[0] <= 0 && interval[1] >= 0);
      const text = interval ? `${perCentText(perCent)} [${interval.map(perCentText).join(" to ")}]` : perCentText(perCent);
      return { word: axis.words[level], text, ratio: ratioOf(perCent), interval: interval?.map(ratioOf) ?? null, verdict: isOpen ? "open" : perCent < 0 === (study.mode === "min") ? "good" : "bad" };
    });
    return { name: axis.name, against: axis.words[0], rows, cells: Math.max(0, ...mine.map(({ cells }) => cells)) };
  }).filter(({ rows }) => rows.length);
}

// Two axes together, the one with more levels downwards: {names, rows: words, columns: words, cells: [[{text, heat}]]};
// heat: −1 … 1, less to more. null: nothing to compare.
export function interactionOf({ axes: [a, b], per_cent: table }, axes) {
  const turned = axes[b].words.length > axes[a].words.length;
  const [down, across] = turned ? [b, a] : [a, b];
  const at = (r, c) => value(turned ? table[c][r] : table[r][c]);
  const shown = axes[down].words.map((_, r) => axes[across].words.map((__, c) => at(r, c)));
  const most = Math.max(0, ...shown.flat().filter((v) => v !== null).map((v) => Math.abs(Math.log(ratioOf(v)))).filter(Number.isFinite));
  const isKnown = (c) => shown.some((row) => row[c] !== null);
  if (axes[across].words.filter((_, c) => isKnown(c)).length < 2) return null;
  const heat = (v) => (v === null || !(most > 0) ? 0 : Math.log(ratioOf(v)) / Math.max(most, Math.log(1.05)));
  return { names: [axes[down].name, axes[across].name], rows: axes[down].words, columns: axes[across].words, cells: shown.map((row) => row.map((v) => ({ text: perCentText(v), heat: heat(v) }))) };
}

const mean = (list) => list.reduce((sum, v) => sum + v, 0) / list.length;

// The value below which a share of a sorted list lies, between neighbours by a straight line.
export function quantile(sorted, share) {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

// The repeats of each cell against their median, as ratios: [{word, level: of the axis, each, box: [q1, q3], ends, text}].
export function boxesOf(axes, cells, axis) {
  return cells
    .filter(({ each }) => each.length > 1 && each.every((v) => v > 0))
    .map((cell) => {
      const sorted = [...cell.each].sort((a, b) => a - b);
      const median = quantile(sorted, 0.5);
      const each = sorted.map((v) => v / median);
      const deviation = Math.sqrt(sorted.reduce((sum, v) => sum + (v - mean(sorted)) ** 2, 0) / (sorted.length - 1));
      return {
        word: cellWords(axes, cell),
        level: axis === null ? 0 : cell.at[axis],
        each,
        box: [quantile(each, 0.25), quantile(each, 0.75)],
        ends: [each[0], each.at(-1)],
        text: `± ${number((100 * deviation) / mean(sorted), 2)}\u00a0%`,
      };
    });
}

// "cpu · 8 layers"
export const cellWords = (axes, cell, without = null) => axes.map((axis, a) => (a === without ? null : axis.words[cell.at[a]])).filter((word) => word !== null).join(" · ");

// The cells that differ in one axis alone: [{key, word, parameters, cells: by level}], in the order of their trials.
export function pairsOf(axes, cells, axis) {
  const groups = new Map();
  for (const cell of cells) {
    if (!Number.isFinite(cell.mean)) continue;
    const key = cell.at.filter((_, a) => a !== axis).join();
    const group = groups.get(key) ?? { key, word: cellWords(axes, cell, axis) || cellWords(axes, cell), parameters: cell.parameters, cells: [] };
    group.cells.push(cell);
    groups.set(key, group);
  }
  for (const group of groups.values()) if (axis !== null) group.cells.sort((a, b) => a.at[axis] - b.at[axis]);
  return [...groups.values()];
}

// The fields that do not vary, as pairs of a name and a text.
export function controlsOf(controls, axes) {
  const varied = new Set(axes.flatMap(({ pointers }) => pointers));
  const found = [];
  const walk = (node, pointer) => {
    if (varied.has(pointer) || node === null) return;
    if (isObject(node)) for (const [name, child] of Object.entries(node)) walk(child, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    else found.push([pointer, Array.isArray(node) && node.every(isScalar) ? node.join(", ") : valueText(node)]);
  };
  walk(controls, "");
  return found.map(([pointer, text]) => [pointerSteps(pointer).join(" "), text]);
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// The cells as CSV: a line a cell, a column for each axis, each repeat and each time.
export function csvOf(study, axes, cells, of = String) {
  const repeats = Math.max(0, ...cells.map(({ each }) => each.length));
  const head = [...axes.map(({ name }) => name), "outcome", "parameters", study.metric, "deviation", ...Array.from({ length: repeats }, (_, i) => `repeat ${i + 1}`), "epoch_seconds", "test_seconds", "train_seconds"];
  const lines = cells.map((cell) => [...axes.map((axis, a) => axis.words[cell.at[a]]), cell.outcome, cell.parameters, cell.mean, cell.deviation, ...Array.from({ length: repeats }, (_, i) => cell.each[i]), cell.epochSeconds, cell.testSeconds, cell.trainSeconds]);
  return [head, ...lines].map((line) => `${line.map((item) => quoted(of(String(item ?? "")))).join(",")}\n`).join("");
}

// "Time of an epoch of 14 cells: device (2) by layers (7), 3 repeats of each.": what the study is of.
export function extentWords(study, axes) {
  const count = axes.reduce((product, { words }) => product * words.length, 1);
  const grid = axes.map(({ name, words }) => `${name} (${integer(words.length)})`).join(" by ");
  return `${metricOf(study.metric).word} of ${integer(count)} cells: ${grid}${study.repeats > 1 ? `, ${integer(study.repeats)} repeats of each` : ""}.`;
}
