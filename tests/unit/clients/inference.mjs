// inference.mjs: what a model is asked, and the programs that ask it.
import "./page.mjs";
import assert from "node:assert/strict";
import test from "node:test";

const { byColumns, inferAnswer, inferRequest, pythonProgram } = await import("../../../clients/dashboard/inference.js");

const columns = [{ name: "age", datatype: "FP64", shape: [-1] }, { name: "town", datatype: "BYTES", shape: [-1] }];
const tensor = [{ name: "x", datatype: "FP32", shape: [-1, 2] }];

test("a row is asked by its columns, or as numbers", () => {
  assert.deepEqual([byColumns(columns), byColumns(tensor)], [true, false]);
  assert.deepEqual(inferRequest(columns, { age: 31, town: null }).inputs,
    [{ name: "age", datatype: "FP64", shape: [1], data: [31] }, { name: "town", datatype: "BYTES", shape: [1], data: [null] }]);
  assert.equal(inferRequest(columns, { age: "young" }).inputs[0].datatype, "BYTES", "so that the daemon says what is wrong");
  assert.deepEqual(inferRequest(tensor, [1, 2]).inputs, [{ name: "x", datatype: "FP64", shape: [1, 2], data: [1, 2] }]);
});

test("the answer is that of a job", () => {
  const outputs = [{ name: "predictions", data: [-1, 1] }, { name: "class", data: [1] }, { name: "class_name", data: ["yes"] }, { name: "probabilities", data: [0.2, 0.8] }];
  assert.deepEqual(inferAnswer({ outputs, parameters: { warnings: "w" } }, ["no", "yes"]),
    { predictions: [[-1, 1]], classes: ["yes"], probabilities: [[0.2, 0.8]], class_names: ["no", "yes"], warnings: [{ detail: "w" }] });
  assert.equal(inferAnswer({ outputs: outputs.slice(0, 1) }).classes, undefined);
});

test("the program in Python holds the row, whatever its words", () => {
  const program = pythonProgram("/v2/models/m/infer", inferRequest(columns, { age: null, town: "St. John's" }));
  assert.match(program, /"data": \[None\]/);
  assert.match(pythonProgram("/v2", inferRequest([{ name: "x", shape: [-1, 784] }], Array(784).fill(0))), /"shape": \[1, 784\], "data": \[0\] \* 784/);
  assert.match(program, /"data": \["St\. John's"\]/);
  assert.match(program, /urllib\.request\.Request\(\n +"http.*\/v2\/models\/m\/infer"/);
});
