// space.js: the fields of a job that vary, which makes a sweep of it. The daemon's form of a sweep is
// {name, search, …, space: {pointer: axis}, job}; the page's form edits one tree: the job, with an Axis in
// place of each value that varies, and the sweep's own members below "sweep".

import { pointerGet, pointerSet, pointerSteps } from "./json.js";

// Members of the sweep where there is one, else of the job.
const shared = ["name", "tags", "priority", "pinned", "visibility", "ttl_seconds", "repeats", "folds", "stratify", "webhooks"];
const ranges = {
  uniform: { prefix: "", words: "" },
  log_uniform: { prefix: "log:", words: ", even in the logarithm", log: true },
  int_uniform: { prefix: "int:", words: ", whole numbers", whole: true },
  int_log_uniform: { prefix: "int:log:", words: ", whole numbers, even in the logarithm", log: true, whole: true },
};

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// {"log_uniform": [1e-4, 0.1]} or {"values": [8, 16]}: what one field draws from.
export class Axis {
  // json: of the daemon's form, and well formed.
  constructor(json) {
    this.json = json;
    [this.kind] = Object.keys(json);
    this.items = json[this.kind]; // [low, high], or the values
  }

  get isLog() {
    return !!ranges[this.kind]?.log;
  }

  get isWhole() {
    return !!ranges[this.kind]?.whole;
  }

  // A value to stand in for it where none may be missing.
  get first() {
    return this.items[0];
  }

  // As it is typed: "log:0.0001..0.1", "8, 16".
  toString() {
    if (this.kind !== "values") return `${ranges[this.kind].prefix}${this.items.join("..")}`;
    return this.items.map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join(", ");
  }

  // For people: "0.0001 to 0.1, even in the logarithm".
  get words() {
    if (this.kind !== "values") return `${this.items.join(" to ")}${ranges[this.kind].words}`;
    return this.items.length === 1 ? "one value" : `${this.items.length} values`;
  }
}

// The Axis of the daemon's form; null where it is none.
export function axisOf(json) {
  if (!isObject(json) || Object.keys(json).length !== 1) return null;
  const [[kind, items]] = Object.entries(json);
  if (!Array.isArray(items)) return null;
  if (kind === "values") return items.length ? new Axis(json) : null;
  return Object.hasOwn(ranges, kind) && items.length === 2 && items.every((item) => typeof item === "number") ? new Axis(json) : null;
}

const decimal = "[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[-+]?\\d+)?";
const numberText = new RegExp(`^${decimal}$`, "i");
const rangeText = new RegExp(`^((?:(?:log|int)\\s*:\\s*){0,2})(${decimal})\\s*(?:\\.{2,3}|…)\\s*(${decimal})$`, "i");

// The number that is typed; undefined where it is none.
export const numberOf = (text) => (numberText.test(text.trim()) ? Number(text) : undefined);

// The Axis that is typed: 0.001..0.1, log:1e-4..0.1, int:4..64, int:log:4..64, or "8, 16, 32"; null where it is
// none. Between whole ends of a `whole` field there are whole numbers, with or without "int:".
export function axisOfText(text, whole = false) {
  const typed = text.trim();
  const range = rangeText.exec(typed);
  if (range) {
    const ends = [Number(range[2]), Number(range[3])];
    const isWhole = /int/i.test(range[1]) || (whole && ends.every(Number.isInteger));
    const kind = Object.keys(ranges).find((name) => !!ranges[name].whole === isWhole && !!ranges[name].log === /log/i.test(range[1]));
    return new Axis({ [kind]: ends });
  }
  if (!typed.includes(",") || /^[[{"]/.test(typed)) return null;
  const items = typed.split(",").map((item) => item.trim()).filter(Boolean);
  return items.length > 1 ? new Axis({ values: items.map((item) => numberOf(item) ?? item) }) : null;
}

export const isSweep = (spec) => Object.hasOwn(spec, "space") || Object.hasOwn(spec, "job");

const sharedOf = (members) => Object.fromEntries(shared.filter((name) => Object.hasOwn(members, name)).map((name) => [name, members[name]]));

// Whether the tree has a value, or room for one, at the pointer.
function hasPlace(tree, pointer) {
  const around = pointerGet(tree, pointer.slice(0, pointer.lastIndexOf("/")));
  if (!Array.isArray(around)) return isObject(around) && !(around instanceof Axis);
  return Object.hasOwn(around, pointerSteps(pointer).at(-1));
}

// The axis that a pointer leads into, or null: "/optimizer/lr" leads into one of whole optimizers.
export function axisAround(tree, pointer) {
  for (let at = pointer.lastIndexOf("/"); at > 0; at = pointer.lastIndexOf("/", at - 1)) {
    const around = pointerGet(tree, pointer.slice(0, at));
    if (around instanceof Axis) return around;
  }
  return null;
}

// The tree of a job or a sweep in the daemon's form. Axes that the job has no place for stay in tree.sweep.space.
export function treeOf(spec) {
  if (!isSweep(spec)) return structuredClone(spec);
  const { job, space, ...members } = structuredClone(spec);
  const own = sharedOf(members);
  for (const name of shared) delete members[name];
  const tree = { ...own, ...(isObject(job) ? job : {}), ...own, sweep: members };
  if (!isObject(space)) return tree;
  const homeless = {};
  for (const [pointer, json] of Object.entries(space)) {
    const axis = axisOf(json);
    if (axis && pointer.startsWith("/") && hasPlace(tree, pointer)) pointerSet(tree, pointer, axis);
    else homeless[pointer] = json;
  }
  if (Object.keys(homeless).length) members.space = homeless;
  return tree;
}

// A copy of a tree's value without its axes, which go to `space`. An array's item leaves its first value behind.
function take(value, pointer, space) {
  const below = (step) => `${pointer}/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (Array.isArray(value))
    return value.map((item, i) => {
      if (!(item instanceof Axis)) return take(item, below(String(i)), space);
      space[below(String(i))] = item.json;
      return item.first;
    });
  if (!isObject(value)) return value;
  const copy = {};
  for (const [name, item] of Object.entries(value)) {
    if (item instanceof Axis) space[below(name)] = item.json;
    else copy[name] = take(item, below(name), space);
  }
  return copy;
}

// The daemon's form of a tree: a sweep where a field varies, else a job.
export function specOf(tree) {
  const { sweep, ...fields } = tree;
  const space = {};
  const job = take(fields, "", space);
  const { space: homeless, ...members } = sweep ?? {};
  const all = { ...(isObject(homeless) ? homeless : {}), ...space };
  if (!Object.keys(all).length) return job;
  const own = sharedOf(job);
  for (const name of shared) delete job[name];
  return { ...own, ...members, space: all, job };
}

// Where a fault of the daemon's form stands in the tree: "/job/epochs" -> "/epochs", "/space/~1epochs/values/1"
// -> "/epochs", "/metric" -> "/sweep/metric".
export function treePointer(spec, pointer) {
  if (!isSweep(spec) || pointer === "") return pointer;
  const [first, second] = pointerSteps(pointer);
  if (first === "job") return pointer.slice("/job".length);
  if (first === "space" && second?.startsWith("/")) return second;
  return shared.includes(first) ? pointer : `/sweep${pointer}`;
}
