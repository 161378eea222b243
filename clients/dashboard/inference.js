// inference.js: what KServe V2 is asked of one row, what it answered, and programs that ask the same.

import { addressOf, token } from "./api.js";

// Whether a model is asked by columns, a cell of each, and not by one tensor of numbers.
export const byColumns = (inputs) => inputs.every(({ shape }) => shape.length === 1);

// row: cells by the names of the columns, or the numbers of the one input. A text goes as it is, whatever the column holds.
export function inferRequest(inputs, row) {
  if (Array.isArray(row)) return { inputs: [{ name: inputs[0].name, datatype: "FP64", shape: [1, ...inputs[0].shape.slice(1)], data: row }] };
  return { inputs: inputs.map(({ name, datatype }) => ({ name, datatype: typeof row[name] === "string" ? "BYTES" : datatype, shape: [1], data: [row[name] ?? null] })) };
}

// The response for one row as that of /v1/jobs/{id}/predict. names: of the classes, where they are known.
export function inferAnswer({ outputs, parameters }, names) {
  const data = Object.fromEntries(outputs.map((output) => [output.name, output.data]));
  return {
    predictions: [data.predictions],
    classes: data.class_name ?? data.class,
    probabilities: data.probabilities && [data.probabilities],
    class_names: names,
    warnings: parameters?.warnings ? [{ detail: parameters.warnings }] : [],
  };
}

// A value of JSON as Python writes it, indented by four.
function python(value, indent = "") {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value) && value.length > 8 && value.every((item) => item === value[0])) return `[${python(value[0])}] * ${value.length}`;
  const deeper = `${indent}    `;
  const items = Array.isArray(value) ? value.map((item) => python(item, deeper)) : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${python(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const line = `${open}${items.join(", ")}${close}`;
  return line.length + indent.length <= 88 && !line.includes("\n") ? line : `${open}\n${items.map((item) => deeper + item).join(",\n")}\n${indent}${close}`;
}

// A program that sends the request and prints the outputs by their names.
export function pythonProgram(path, request) {
  const address = new URL(addressOf(path), location.href).href;
  const secret = token();
  return `import json${secret ? ", os" : ""}, urllib.request

ask = ${python(request)}
request = urllib.request.Request(
    ${JSON.stringify(address)}, json.dumps(ask).encode(),
    {"Content-Type": "application/json"${secret ? ', "Authorization": "Bearer " + os.environ["TOKEN"]' : ""}})
with urllib.request.urlopen(request) as answer:
    for output in json.load(answer)["outputs"]:
        print(output["name"], output["data"])`;
}
