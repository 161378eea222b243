// bulk.mjs: what is asked before several jobs are cancelled or deleted, and what is said afterwards.
import assert from "node:assert/strict";
import test from "node:test";
import { actedOn, bulkOutcome, bulkQuestion } from "../../../clients/dashboard/bulk.js";

const job = (id, status, extra = {}) => ({ id, name: id, status, ...extra });
const picked = [job("a", "running"), job("b", "queued"), job("c", "queued"), job("d", "succeeded", { pinned: true }), job("e", "failed"), job("f", "paused")];

test("an action is for those that it can change", () => {
  assert.deepEqual(actedOn("cancel", picked).map(({ id }) => id), ["a", "b", "c", "f"]);
  assert.deepEqual(actedOn("delete", picked).map(({ id }) => id), ["d", "e"]);
});

test("the question says what becomes of each", () => {
  const cancel = bulkQuestion("cancel", picked);
  assert.equal(cancel.title, "Cancel 4 jobs?");
  assert.deepEqual(cancel.lines, ["2 jobs that have begun stop, and keep their last weights.", "2 jobs that wait will never start.", "2 jobs have ended already and stay as they are."]);
  const remove = bulkQuestion("delete", picked);
  assert.equal(remove.button, "Delete 2 jobs");
  assert.match(remove.lines[0], /2 jobs go, with their curves, events, predictions, checkpoints and weights. This cannot be undone/);
  assert.match(remove.lines[1], /1 of them is pinned, and goes as well/);
  assert.match(remove.lines[2], /4 jobs have not ended and stay: cancel them first/);
  assert.deepEqual(bulkQuestion("delete", [job("e", "failed")]), { title: "Delete 1 job?", button: "Delete 1 job",
    lines: ["1 job goes, with its curves, events, predictions and checkpoints. This cannot be undone."] });
});

test("what was refused is named with its reason", () => {
  assert.deepEqual(bulkOutcome("delete", { done: 1, refused: [{ job: picked[3], error: new Error("model \"m\" is published from it") }] }, ({ name }) => name),
    ["1 job was deleted.", 'd was not deleted: model "m" is published from it']);
  assert.deepEqual(bulkOutcome("cancel", { done: 0, refused: [] }, String), []);
});

test("a job that ended first was not cancelled", () => {
  assert.deepEqual(bulkOutcome("cancel", { done: 2, late: 1, refused: [] }, String), ["2 jobs were cancelled.", "1 job had ended before."]);
});
