// json.js: a job's JSON as indented text, and JSON pointers (RFC 6901) into it.

// Indented by two; a value that fits a line of `width` is one line.
export function prettyJson(value, width = 88, indent = "") {
  const flat = oneLine(value);
  if (flat.length + indent.length <= width || value === null || typeof value !== "object") return flat;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item === "number")) return numbers(value, width, indent);
    return `[\n${value.map((item) => deeper + prettyJson(item, width, deeper)).join(",\n")}\n${indent}]`;
  }
  const members = Object.entries(value).map(([name, item]) => `${deeper}${JSON.stringify(name)}: ${prettyJson(item, width, deeper)}`);
  return `{\n${members.join(",\n")}\n${indent}}`;
}

function oneLine(value) {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${oneLine(item)}`).join(", ")}}`;
}

// A list of numbers: as many on a line as fit.
function numbers(values, width, indent) {
  const lines = [];
  let line = "";
  for (const item of values) {
    const text = JSON.stringify(item);
    if (line && line.length + text.length + indent.length + 5 > width) {
      lines.push(line);
      line = "";
    }
    line += line ? `, ${text}` : text;
  }
  lines.push(line);
  return `[\n${lines.map((each) => `${indent}  ${each}`).join(",\n")}\n${indent}]`;
}

// "/model/layers/0" -> ["model", "layers", "0"].
export function pointerSteps(pointer) {
  return pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

// The value at a pointer; undefined where there is none.
export function pointerGet(root, pointer) {
  return pointerSteps(pointer).reduce((at, step) => (at !== null && typeof at === "object" && Object.hasOwn(at, step) ? at[step] : undefined), root);
}

// Sets the value at a pointer and creates the objects above it; undefined removes the member.
export function pointerSet(root, pointer, value) {
  const steps = pointerSteps(pointer);
  const last = steps.pop();
  let at = root;
  for (const step of steps) {
    if (at[step] === null || typeof at[step] !== "object") {
      if (value === undefined) return;
      at[step] = {};
    }
    at = at[step];
  }
  if (value !== undefined) at[last] = value;
  else if (!Array.isArray(at)) delete at[last];
}

// The offsets of every value in a JSON text: Map of pointer -> [from, to).
export function pointerOffsets(text) {
  const offsets = new Map();
  let at = 0;
  const blank = () => {
    while (at < text.length && " \t\r\n".includes(text[at])) at++;
  };
  const string = () => {
    const from = at++;
    while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at++;
    return JSON.parse(text.slice(from, at));
  };
  const value = (pointer) => {
    blank();
    const from = at;
    if (text[at] === "{") members(pointer);
    else if (text[at] === "[") items(pointer);
    else if (text[at] === '"') string();
    else while (at < text.length && !",]} \t\r\n".includes(text[at])) at++;
    offsets.set(pointer, [from, at]);
    blank();
  };
  const members = (pointer) => {
    at++;
    blank();
    while (at < text.length && text[at] !== "}") {
      const name = string();
      blank();
      at++; // the colon
      value(`${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
      if (text[at] === ",") at++;
      blank();
    }
    at++;
  };
  const items = (pointer) => {
    at++;
    blank();
    for (let i = 0; at < text.length && text[at] !== "]"; i++) {
      value(`${pointer}/${i}`);
      if (text[at] === ",") at++;
      blank();
    }
    at++;
  };
  value("");
  return offsets;
}

// The offsets of the value at a pointer, or of the nearest value around it.
export function offsetsOf(offsets, pointer) {
  for (let p = pointer; ; p = p.slice(0, p.lastIndexOf("/"))) {
    if (offsets.has(p)) return offsets.get(p);
    if (!p) return null;
  }
}
