// job_order.mjs: the list of jobs, put in order by a column.
import assert from "node:assert/strict";
import test from "node:test";
import { inGroups, inOrder, leadingWords, orders, trainedSeconds } from "../../../clients/dashboard/job_order.js";

const job = (name, extra = {}) => ({ name, status: "succeeded", device: "cpu", progress: { fraction: 1 }, created_at: "2026-01-01T00:00:00.000Z", timing: { train_seconds: null }, metrics: null, ...extra });
const jobs = [
  job("b", { metrics: { train: { loss: 0.5 }, test: { accuracy: 0.9 } }, timing: { train_seconds: 3 }, created_at: "2026-01-03T00:00:00.000Z" }),
  job("", { status: "queued", device: null, progress: { fraction: 0 } }),
  job("a", { metrics: { train: { loss: "Infinity" }, test: { r2: 0.2 } }, timing: { train_seconds: 1 }, created_at: "2026-01-02T00:00:00.000Z" }),
  job("c", { metrics: { train: { loss: "NaN" }, test: { rmse: 7 } } }),
];
const names = (order) => inOrder(jobs, order).map(({ name }) => name || "-").join("");

test("what has no value goes last, either way", () => {
  assert.equal(names("Loss"), "ba-c");
  assert.equal(names("-Loss"), "ab-c");
  assert.equal(names("Job"), "abc-");
  assert.equal(names("-Job"), "cba-");
  assert.equal(names("Duration"), "ab-c");
  assert.equal(names("-Test"), "cba-");
  assert.equal(names("Age"), "ba-c");
});

test("groups come as their first jobs do, with the best of each", () => {
  const of = (dataset, accuracy) => ({ name: "n", dataset, tags: accuracy > 0.7 ? ["good", "x"] : [], metrics: accuracy === undefined ? null : { test: { accuracy } } });
  const list = [of(null, 0.5), of("b", 0.6), of("a", 0.7), of("b", 0.8), of("b")];
  assert.deepEqual(inGroups(list, "dataset").map(({ label, jobs: mine, best }) => [label, mine.length, best?.metrics.test.accuracy ?? null]), [["b", 3, 0.8], ["a", 1, null], [null, 1, null]]);
  assert.deepEqual(inGroups(list, "tag").map(({ label, jobs: mine }) => [label, mine.length]), [["good", 1], [null, 4]]);
  assert.deepEqual(inGroups(list, "name").map(({ label, jobs: mine }) => [label, mine.length]), [["n", 5]]);
  const errors = [7, 5, 6].map((rmse) => ({ name: "n", metrics: { test: { rmse } } }));
  assert.equal(inGroups(errors, "name")[0].best, errors[1]);
  assert.equal(inGroups([...errors, of("a", 0.9)], "name")[0].best, null, "metrics of two kinds have no best");
});

test("no order, or one that there is not, leaves them as they are", () => {
  assert.equal(names(""), "b-ac");
  assert.equal(names("constructor"), "b-ac");
  for (const order of orders) assert.equal(inOrder(jobs, `-${order}`).length, jobs.length);
});

test("a job's duration and its leading metric", () => {
  const running = job("r", { status: "running", started_at: "2026-01-01T00:00:00.000Z" });
  assert.equal(trainedSeconds(running, Date.parse("2026-01-01T00:00:05Z")), 5);
  assert.equal(trainedSeconds(jobs[0]), 3);
  assert.equal(trainedSeconds(jobs[1]), null);
  assert.deepEqual(jobs.map(leadingWords), ["Accuracy 90.00\u00a0%", "–", "R² 0.2", "RMSE 7"]);
});
