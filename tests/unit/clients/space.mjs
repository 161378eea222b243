// space.mjs: ranges as they are typed, and a sweep as the tree that the form edits.
import assert from "node:assert/strict";
import test from "node:test";
import { pointerGet, pointerSet } from "../../../clients/dashboard/json.js";
import { Axis, axisAround, axisOf, axisOfText, isSweep, numberOf, specOf, treeOf, treePointer } from "../../../clients/dashboard/space.js";

const typed = (text, whole) => axisOfText(text, whole)?.json ?? null;

test("ranges and lists are axes", () => {
  assert.deepEqual(typed("0.001..0.1"), { uniform: [0.001, 0.1] });
  assert.deepEqual(typed(" log:1e-4..1e-1 "), { log_uniform: [1e-4, 0.1] });
  assert.deepEqual(typed("int:4..64"), { int_uniform: [4, 64] });
  for (const text of ["int:log:4..64", "log:int:4..64", "LOG: int: 4 .. 64", "int:log:4…64"]) assert.deepEqual(typed(text), { int_log_uniform: [4, 64] }, text);
  assert.deepEqual(typed("8,16, 32"), { values: [8, 16, 32] });
  assert.deepEqual(typed("16, full"), { values: [16, "full"] });
  assert.deepEqual(typed("1...5"), { uniform: [1, 5] });
  assert.deepEqual(typed("-1..-.5"), { uniform: [-1, -0.5] });
});

test("between the whole ends of a whole field there are whole numbers", () => {
  assert.deepEqual(typed("4..64", true), { int_uniform: [4, 64] });
  assert.deepEqual(typed("log:4..64", true), { int_log_uniform: [4, 64] });
  assert.deepEqual(typed("0.5..64", true), { uniform: [0.5, 64] });
  assert.deepEqual(typed("4..64", false), { uniform: [4, 64] });
});

test("what is typed halfway is none, nor is other text", () => {
  for (const text of ["", "0.1", "0.1.", "0.1..", "..0.1", "log:", "log:3", "8,", ",", "[2, 3]", '{"a": 1, "b": 2}', "full", "a..b", "1..2..3"]) assert.equal(typed(text), null, text);
  assert.equal(numberOf(" 1e-4 "), 1e-4);
  assert.equal(numberOf("1..2"), undefined);
});

test("an axis reads as it is typed", () => {
  for (const json of [{ uniform: [0.001, 0.1] }, { log_uniform: [1e-7, 1e3] }, { int_uniform: [-4, 64] }, { int_log_uniform: [1, 1e6] }, { values: [8, 0.5, "full"] }]) {
    const axis = axisOf(json);
    assert.deepEqual(axisOfText(String(axis)).json, json);
    assert.ok(axis.words.length > 3, axis.words);
  }
  assert.equal(axisOf({ log_uniform: [1, 2] }).isLog, true);
  assert.equal(axisOf({ int_uniform: [1, 2] }).isLog, false);
});

test("what is malformed is no axis", () => {
  for (const json of [null, 3, [], {}, { uniform: [1] }, { uniform: ["a", 2] }, { values: [] }, { values: 3 }, { other: [1, 2] }, { uniform: [1, 2], values: [3] }]) assert.equal(axisOf(json), null, JSON.stringify(json));
});

const sweep = () => ({
  name: "widths", tags: ["a"], webhooks: [{ url: "https://a.example/", events: ["end"] }], search: "sobol", max_trials: 20,
  space: {
    "/optimizer/lr": { log_uniform: [1e-4, 0.1] },
    "/model/layers/0/out_features": { values: [8, 16] },
    "/model/layers/1": { values: [{ type: "relu" }, { type: "tanh" }] },
    "/schedule/gamma": { uniform: [0.1, 0.9] },
  },
  job: { data: { generator: "disc" }, model: { layers: [{ type: "linear" }, { type: "relu" }] }, loss: "mse", optimizer: { type: "sgd" }, epochs: 10 },
});

test("a sweep and its tree are the same", () => {
  const tree = treeOf(sweep());
  assert.ok(pointerGet(tree, "/optimizer/lr") instanceof Axis);
  assert.ok(pointerGet(tree, "/model/layers/1") instanceof Axis);
  assert.equal(pointerGet(tree, "/schedule"), undefined, "no room is made for what has no place");
  assert.equal(tree.name, "widths");
  assert.equal(pointerGet(tree, "/sweep/search"), "sobol");
  assert.deepEqual(specOf(tree), sweep());
});

test("a job is its own tree", () => {
  const { job } = sweep();
  assert.equal(isSweep(job), false);
  assert.deepEqual(treeOf(job), job);
  assert.deepEqual(specOf(treeOf(job)), job);
});

test("a range makes a sweep of a job, and its removal a job again", () => {
  const job = { name: "xor", tags: ["t"], priority: 3, ...sweep().job };
  const tree = treeOf(job);
  pointerSet(tree, "/optimizer/lr", axisOfText("log:1e-4..1e-1"));
  tree.sweep = { search: "tpe" };
  const made = specOf(tree);
  assert.equal(isSweep(made), true);
  assert.deepEqual(made, { name: "xor", tags: ["t"], priority: 3, search: "tpe", space: { "/optimizer/lr": { log_uniform: [1e-4, 0.1] } }, job: sweep().job });
  pointerSet(tree, "/optimizer/lr", undefined);
  assert.deepEqual(specOf(tree), job);
});

test("folds and repeats are the sweep's, where there is one", () => {
  const tree = treeOf({ repeats: 3, folds: 5, job: { folds: 2, epochs: 1 }, space: { "/epochs": { values: [1, 2] } } });
  assert.equal(tree.folds, 5);
  assert.deepEqual(specOf(tree), { repeats: 3, folds: 5, space: { "/epochs": { values: [1, 2] } }, job: {} });
  tree.epochs = 7;
  assert.deepEqual(specOf(tree), { repeats: 3, folds: 5, epochs: 7 });
  assert.equal(treePointer({ job: {}, space: {} }, "/folds"), "/folds");
});

test("layers take their ranges along", () => {
  const tree = treeOf(sweep());
  tree.model.layers.unshift({ type: "flatten" });
  assert.deepEqual(Object.keys(specOf(tree).space).filter((pointer) => pointer.startsWith("/model")), ["/model/layers/1/out_features", "/model/layers/2"]);
  tree.model.layers.splice(2, 1);
  assert.deepEqual(specOf(tree).job.model.layers, [{ type: "flatten" }, { type: "linear" }]);
});

test("a pointer leads into what varies as a whole", () => {
  const tree = treeOf({ space: { "/optimizer": { values: [{ type: "sgd" }, { type: "adam" }] } }, job: {} });
  assert.equal(axisAround(tree, "/optimizer/lr"), tree.optimizer);
  assert.equal(axisAround(tree, "/optimizer/betas/0"), tree.optimizer);
  assert.equal(axisAround(tree, "/optimizer"), null);
  assert.equal(axisAround(tree, "/model/layers/0"), null);
});

test("names with slashes and tildes are escaped", () => {
  const tree = { a: { "b/c~d": axisOfText("1, 2") } };
  const { space } = specOf(tree);
  assert.deepEqual(space, { "/a/b~1c~0d": { values: [1, 2] } });
  assert.deepEqual(specOf(treeOf({ space, job: { a: {} } })).space, space);
});

test("half a sweep is a tree too", () => {
  for (const spec of [{ space: 3 }, { space: { "/a/b": { uniform: [0, 1] } } }, { job: 3, space: { x: 1 } }, { job: null }, { job: {} }]) assert.equal(typeof specOf(treeOf(spec)), "object", JSON.stringify(spec));
  const spec = { space: { "/a/b": { uniform: [0, 1] }, "/c": { nothing: 1 } }, job: {} };
  assert.deepEqual(specOf(treeOf(spec)), spec);
});

test("faults are placed where the form has the field", () => {
  const place = (pointer) => treePointer(sweep(), pointer);
  assert.equal(place("/job/epochs"), "/epochs");
  assert.equal(place("/job"), "");
  assert.equal(place("/space/~1optimizer~1lr/log_uniform/1"), "/optimizer/lr");
  assert.equal(place("/space/~1model~1layers~10~1out_features"), "/model/layers/0/out_features");
  assert.equal(place("/space"), "/sweep/space");
  assert.equal(place("/metric"), "/sweep/metric");
  assert.equal(place("/name"), "/name");
  assert.equal(place(""), "");
  assert.equal(treePointer({ epochs: 1 }, "/epochs"), "/epochs");
});
