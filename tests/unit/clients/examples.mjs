// examples.mjs: the dashboard's examples. tests/e2e/dashboard_examples.sh submits each to a daemon.
import assert from "node:assert/strict";
import test from "node:test";
import { examples, tables } from "../../../clients/dashboard/examples.js";

test("ids are unique, a spec is new each time", () => {
  assert.equal(new Set(examples.map(({ id }) => id)).size, examples.length);
  for (const { id, spec } of examples) {
    assert.notEqual(spec(), spec(), id);
    assert.deepEqual(spec(), spec(), id);
  }
});

test("one needs a dataset exactly if it says so", () => {
  for (const { id, needs, spec } of examples) assert.equal((spec().job ?? spec()).data.dataset, needs, id);
});

test("rows in a job have a target each, and both classes occur", () => {
  for (const id of ["linear", "logistic"]) {
    const { x, y } = examples.find((each) => each.id === id).spec().data.inline;
    assert.equal(x.length, y.length, id);
    assert.ok([...x.flat(), ...y].every(Number.isFinite), id);
  }
  const failed = examples.find(({ id }) => id === "logistic").spec().data.inline.y.filter((y) => y === 1).length;
  assert.ok(failed > 15 && failed < 45, `${failed} of 60`);
});

test("a table has its target, in rows of as many cells as names", () => {
  for (const { id, csv, target } of tables) {
    const [names, ...rows] = csv().trim().split("\n").map((line) => line.split(","));
    assert.ok(names.includes(target), id);
    assert.equal(rows.length, 400, id);
    assert.ok(rows.every((row) => row.length === names.length && row.every(Boolean)), id);
    assert.ok(new Set(rows.map((row) => row[names.indexOf(target)])).size > 1, id);
  }
});
