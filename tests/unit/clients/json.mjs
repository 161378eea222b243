// json.mjs: JSON as text for people, and pointers into it.
import assert from "node:assert/strict";
import test from "node:test";
import { offsetsOf, pointerGet, pointerOffsets, pointerSet, prettyJson } from "../../../clients/dashboard/json.js";

const samples = [
  {}, [], null, 0, -1.5e-7, "a \"quoted\" \\ word", [[]], { a: {} },
  { name: "x", data: { inline: { x: Array.from({ length: 40 }, (_, i) => [i, i / 7]), y: Array.from({ length: 40 }, (_, i) => i % 2) } } },
  { "a/b": { "~c": [1, { "": 2 }] }, long: "word ".repeat(40), deep: [[[[[[1, 2, 3]]]]]] },
];

test("what is printed is the same JSON", () => {
  for (const sample of samples) for (const width of [1, 20, 88]) assert.deepEqual(JSON.parse(prettyJson(sample, width)), sample);
});

test("what fits stays on a line, what does not is broken", () => {
  assert.equal(prettyJson({ a: [1, 2], b: "c" }, 40), '{"a": [1, 2], "b": "c"}');
  assert.equal(prettyJson({ a: [1, 2], b: "c" }, 20), '{\n  "a": [1, 2],\n  "b": "c"\n}');
  const many = prettyJson(Array.from({ length: 500 }, (_, i) => i), 60);
  assert.ok(many.split("\n").every((line) => line.length <= 60), many);
  assert.ok(many.split("\n").length < 60);
});

test("a pointer's place holds its value", () => {
  let checked = 0;
  for (const sample of samples) {
    for (const text of [JSON.stringify(sample), prettyJson(sample, 20)]) {
      for (const [pointer, [from, to]] of pointerOffsets(text)) {
        assert.deepEqual(JSON.parse(text.slice(from, to)), pointerGet(sample, pointer), pointer);
        checked++;
      }
    }
  }
  assert.ok(checked > 300, `${checked} places`);
});

test("a pointer to nothing leads to what is around it", () => {
  const text = '{"model": {"layers": [{"type": "relu"}]}}';
  const [from, to] = offsetsOf(pointerOffsets(text), "/model/layers/0/out_features");
  assert.equal(text.slice(from, to), '{"type": "relu"}');
});

test("setting makes the way, undefined takes away", () => {
  const spec = { data: { test: 0.2 } };
  pointerSet(spec, "/optimizer/lr", 0.1);
  pointerSet(spec, "/data/test", undefined);
  pointerSet(spec, "/schedule/type", undefined);
  assert.deepEqual(spec, { data: {}, optimizer: { lr: 0.1 } });
  assert.equal(pointerGet(spec, "/optimizer/constructor"), undefined);
});
