// studies.mjs: the requests of the page's studies; epochctl's examples are the same.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { configurations, doublingNet, doublingStudy, rowsNodesDepthStudy } from "../../../clients/dashboard/studies.js";

// The parameters of a network on points of the plane, by hand.
const size = (layers) => {
  let inputs = 2, count = 0;
  for (const { out_features: outputs } of layers.filter((layer) => layer.type === "linear")) {
    count += (inputs + 1) * outputs;
    inputs = outputs;
  }
  return count;
};

test("doubling nets have the published sizes", () => {
  assert.equal(size(doublingNet(2)), 22);
  assert.equal(Math.round(size(doublingNet(8)) / 100), 447);
  assert.equal(Math.round(size(doublingNet(10)) / 1000), 703);
  assert.equal(Math.round(size(doublingNet(12)) / 1e5), 112);
});

test("a study is one request: networks by devices, with repeats, a warm-up and nothing beside it", () => {
  const { space, repeats, warm_up: warmUp, exclusive, tags, metric, job } = doublingStudy({ from: 3, to: 5, epochs: 7, repeats: 4, devices: ["cpu", "cuda:0"] });
  assert.deepEqual(space["/device"], { values: ["cpu", "cuda:0"] });
  assert.deepEqual(space["/model/layers"].values.map(size), [3, 4, 5].map((layers) => size(doublingNet(layers))));
  assert.deepEqual([repeats, warmUp, exclusive, tags, metric, job.epochs], [4, 1, true, ["study"], "epoch_microseconds", 7]);
});

test("rows, nodes and depth move together", () => {
  const { space, zip, repeats } = rowsNodesDepthStudy();
  assert.deepEqual(zip, [["/data/rows", "/model/layers"]]);
  assert.equal(repeats, 5);
  assert.deepEqual(space["/data/rows"].values, configurations.map(([rows]) => rows));
  assert.deepEqual(space["/model/layers"].values.map((layers) => layers.filter(({ type }) => type === "relu").length), configurations.map(([, , depth]) => depth));
  assert.equal("/device" in space, false);
});

test("the examples of epochctl are these requests", () => {
  for (const request of [doublingStudy(), rowsNodesDepthStudy()])
    assert.deepEqual(JSON.parse(readFileSync(new URL(`../../../clients/epochctl/examples/${request.name}.json`, import.meta.url))), request);
});
