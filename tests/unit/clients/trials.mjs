// trials.mjs: the numbers behind a sweep's charts: names, scales, the best so far, thinning.
import assert from "node:assert/strict";
import test from "node:test";
import { bandOf, bestOf, pathOf } from "../../../clients/dashboard/parallel.js";
import { metricOf, metricText, numberScale, parametersOf, progressOf, runningBest, scaleOf, shortNames, thin, valueText, wantsLog } from "../../../clients/dashboard/trials.js";

test("a metric has words and a format", () => {
  assert.equal(metricOf("validation.loss").word, "Validation loss");
  assert.equal(metricOf("train.r2").word, "Training R²");
  assert.equal(metricOf("test.roc_auc").word, "Test ROC AUC");
  assert.equal(metricOf("test.precision", "yes").word, "Test precision of yes");
  assert.equal(metricOf("test.f1", null).word, "Test F1");
  assert.equal(metricOf("test.loss", "yes").word, "Test loss");
  assert.equal(metricOf("validation.accuracy").format(0.5), "50.00\u00a0%");
  assert.equal(metricOf("epoch_microseconds").format(2000), "2 ms");
  assert.equal(metricOf("constructor").word, "constructor");
  assert.equal(metricOf(undefined).word, "Metric");
});

test("the best so far, either way, over gaps", () => {
  assert.deepEqual(runningBest([null, 3, NaN, 5, 2, Infinity, 4], "min"), [null, 3, 3, 3, 2, 2, 2]);
  assert.deepEqual(runningBest([3, -Infinity, 5, 2], "max"), [3, 3, 5, 5]);
  assert.deepEqual(runningBest([], "min"), []);
});

test("thinned lists keep the best half, and the rest evenly", () => {
  const many = Array.from({ length: 10000 }, (_, i) => i);
  const kept = thin(many, 2000);
  assert.equal(kept.length, 2000);
  assert.equal(new Set(kept).size, 2000);
  assert.deepEqual(kept.slice(0, 1000), many.slice(0, 1000));
  assert.ok(kept.every((v, i) => i === 0 || v > kept[i - 1]));
  assert.ok(kept.at(-1) >= 9990);
  assert.deepEqual(thin([1, 2, 3], 3), [1, 2, 3]);
});

test("pointers are told apart by their shortest ends", () => {
  assert.deepEqual(shortNames(["/optimizer/lr", "/epochs"]), ["lr", "epochs"]);
  assert.deepEqual(shortNames(["/model/layers/0/out_features", "/model/layers/2/out_features", "/optimizer/lr"]), ["layers/0/out_features", "layers/2/out_features", "lr"]);
  assert.deepEqual(shortNames(["/seed", "/data/seed"]), ["seed", "data/seed"]);
  assert.deepEqual(shortNames(["/model/layers/1"]), ["layers/1"]);
});

const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test("ranges lie along their own scale", () => {
  const log = scaleOf({ log_uniform: [1e-4, 1] });
  assert.equal(log.log, true);
  near(log.share(0.01), 0.5);
  assert.equal(log.share(0), null);
  assert.deepEqual(log.ticks.map(({ text }) => text), ["0.0001", "0.01", "1"]);
  const linear = scaleOf({ int_uniform: [4, 8] });
  assert.deepEqual(scaleOf({ int_log_uniform: [4, 512] }).ticks.map(({ text }) => text), ["4", "45", "512"]);
  assert.deepEqual(scaleOf({ values: [64, 8, 16, 17] }).ticks.map(({ text }) => text), ["8", "16", "64"]);
  assert.equal(linear.log, false);
  near(linear.share(5), 0.25);
  near(linear.share(99), 1);
  assert.equal(scaleOf({ int_log_uniform: [1, 64] }).log, true);
  assert.equal(scaleOf({ int_uniform: [7, 7] }).share(7), 0.5);
});

test("lists of numbers have a scale, others have words", () => {
  assert.equal(scaleOf({ values: [1e-4, 1e-3, 1e-2] }).log, true);
  assert.equal(scaleOf({ values: [8, 16, 32] }).log, false);
  assert.equal(scaleOf({ values: [0, 1000] }).log, false);
  const words = scaleOf({ values: ["sgd", "adam", { type: "relu" }, null, "sgd"] });
  assert.deepEqual(words.words, ["sgd", "adam", '{"type":"relu"}', "null"]);
  assert.equal(words.at("adam"), 1);
  assert.equal(words.at({ type: "relu" }), 2);
  assert.equal(words.at("lion"), null);
  near(words.share(null), 1);
  assert.ok(scaleOf({ values: Array.from({ length: 500 }, (_, i) => `w${i}`) }).ticks.length <= 12);
  assert.equal(scaleOf({ nonsense: 1 }).at(3), null);
});

test("a metric far from its least wants a log scale", () => {
  assert.equal(wantsLog([0.1, 0.2, 40]), true);
  assert.equal(wantsLog([0.1, 0.2]), false);
  assert.equal(wantsLog([0, 100]), false);
  assert.equal(wantsLog([]), false);
  assert.deepEqual(numberScale({ least: 1, most: 100, log: true }).ticks.map(({ text }) => text), ["1", "10", "100"]);
});

test("parameters and values as text", () => {
  const [first, second] = parametersOf({ "/optimizer/lr": { log_uniform: [1, 2] }, "/loss": { values: ["mse", "mae"] } });
  assert.equal(first.name, "lr");
  assert.deepEqual(second.scale.words, ["mse", "mae"]);
  assert.equal(valueText(0.00012345), "0.0001235");
  assert.equal(valueText(undefined), "–");
  assert.equal(valueText({ type: "relu" }), '{"type":"relu"}');
  assert.equal(metricText({ metric: 0.5, deviation: null }, String), "0.5");
  assert.equal(metricText({ metric: 0.5, deviation: 0.123456 }, String), "0.5 ± 0.12");
});

test("how far a sweep is", () => {
  const progress = { done: 88, total: 228, fraction: 0.386 };
  assert.deepEqual(progressOf({ status: "running", search: "random", stopped: null, progress }), { fraction: 0.386, words: "88 of 228" });
  assert.deepEqual(progressOf({ status: "running", search: "asha", stopped: null, progress }).words, "88 of at most 228");
  assert.deepEqual(progressOf({ status: "succeeded", search: "asha", stopped: null, progress }), { fraction: 1, words: "88" });
  assert.equal(progressOf({ status: "succeeded", search: "random", stopped: "max_seconds", progress }).fraction, 0.386);
});

test("a line across the axes has a gap where it has no share", () => {
  const path = (shares) => pathOf(shares, (i) => 10 * i, (share) => share);
  assert.equal(path([0, 1, 0.5]), "M0.0 0.0L10.0 1.0L20.0 0.5");
  assert.equal(path([0, null, 0.5]), "M0.0 0.0M20.0 0.5");
  assert.equal(bandOf(0, 100), 0);
  assert.equal(bandOf(99, 100), 4);
  assert.equal(bandOf(0, 0), 0);
  assert.deepEqual([1, 24, 10000].map(bestOf), [1, 5, 10]);
});
