// studies.mjs: pairs, lines and where they cross, of jobs that no device had to run.
import assert from "node:assert/strict";
import test from "node:test";
import { crossings, doublingNet, pairs, timed } from "../../../clients/dashboard/studies.js";

const job = (device, parameters, epoch_microseconds, extra = {}) => ({
  id: `job_${device}_${parameters}`, name: `net-${parameters}`, status: "succeeded", device,
  spec: { name: `net-${parameters}`, tags: ["study"], priority: 0, device, executor: null, epochs: 20, parameters },
  model: { parameters }, timing: { epoch_microseconds, train_seconds: 1, test_seconds: 0.1 }, ...extra,
});

// The parameters of a doubling net, by hand.
const size = ({ model }) => {
  let inputs = 2, count = 0;
  for (const { out_features: outputs } of model.layers.filter((layer) => layer.type === "linear")) {
    count += (inputs + 1) * outputs;
    inputs = outputs;
  }
  return count;
};

test("doubling nets have the published sizes", () => {
  const of = (layers) => doublingNet(layers, { device: "cpu", epochs: 1, tag: "t" });
  assert.equal(size(of(2)), 22);
  assert.equal(Math.round(size(of(8)) / 100), 447);
  assert.equal(Math.round(size(of(10)) / 1000), 703);
  assert.equal(Math.round(size(of(12)) / 1e5), 112);
  assert.deepEqual(of(3).tags, ["t"]);
  assert.equal(of(3).device, "cpu");
});

test("a line a device, ascending, the fastest of each size, only jobs that succeeded", () => {
  const jobs = [job("cuda:0", 100, 50), job("cpu", 1000, 30), job("cpu", 100, 20), job("cpu", 100, 10), job("cpu", 10, 1, { status: "failed" })];
  assert.deepEqual(timed(jobs), [
    { device: "cpu", parameters: [100, 1000], seconds: [10e-6, 30e-6] },
    { device: "cuda:0", parameters: [100], seconds: [50e-6] },
  ]);
  assert.deepEqual(timed([]), []);
});

test("lines cross where their logarithms do", () => {
  const curves = timed([job("cpu", 100, 10), job("cpu", 10000, 1000), job("cuda:0", 100, 100), job("cuda:0", 10000, 100)]);
  const [found, ...others] = crossings(curves);
  assert.deepEqual(others, []);
  assert.equal(found.slower, "cpu");
  assert.equal(found.faster, "cuda:0");
  assert.ok(Math.abs(found.parameters - 1000) < 1e-6, `${found.parameters}`);
  assert.deepEqual(crossings(timed([job("cpu", 10, 1), job("cpu", 100, 2), job("cuda:0", 10, 3), job("cuda:0", 100, 4)])), []);
});

test("pairs are the same but for their device, their name and their tags", () => {
  const cpu = job("cpu", 100, 10), gpu = job("cuda:0", 100, 20), faster = job("cpu", 100, 9, { id: "job_faster" });
  const other = job("cpu", 100, 5);
  other.spec = { ...other.spec, epochs: 21 };
  gpu.spec = { ...gpu.spec, name: "another", tags: [], priority: 5 };
  const found = pairs([other, gpu, cpu, faster]);
  assert.equal(found.length, 2);
  const both = found.find((pair) => pair.jobs.length === 2);
  assert.deepEqual(both.jobs.map(({ id }) => id), ["job_faster", gpu.id]);
});
