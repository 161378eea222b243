// cells.mjs: what a study's page shows, of studies whose answers are known.
import assert from "node:assert/strict";
import test from "node:test";
import { axesOf, boxesOf, cellsOf, clearCrossovers, controlsOf, crossingWords, csvOf, effectsOf, extentWords, interactionOf, isStudy, levelWords, lineAxes, linesOf, pairsOf, perCentText, quantile, rangeOf, ratioScale, xOf } from "../../../clients/dashboard/cells.js";
import { doublingStudy, rowsNodesDepthStudy } from "../../../clients/dashboard/studies.js";

const nbsp = "\u00a0";
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

// A study of 2 devices and 3 networks: of cpu 10, 100, 1000 µs an epoch, of cuda:0 100 each.
const { space } = doublingStudy({ from: 2, to: 4, devices: ["cpu", "cuda:0"] });
const networks = space["/model/layers"].values;
const sizes = [22, 70, 230];
const time = (device, n) => (device === "cpu" ? 10 ** (n + 1) : 100);
const study = {
  metric: "epoch_microseconds", mode: "min", repeats: 2,
  controls: { data: { generator: "disc", standardize: ["x"] }, model: { layers: networks[0] }, epochs: 20, seed: null },
  axes: [{ pointers: ["/device"], values: ["cpu", "cuda:0"] }, { pointers: ["/model/layers"], values: networks }],
  cells: ["cpu", "cuda:0"].flatMap((device, d) => networks.map((layers, n) => ({
    trial: 3 * d + n, values: { "/model/layers": layers, "/device": device }, outcome: "ok", parameters: sizes[n],
    mean: time(device, n), deviation: 0, each: [time(device, n) * 0.9, time(device, n) * 1.1],
    train_seconds: time(device, n) * 20e-6, test_seconds: 1e-5, epoch_microseconds: time(device, n), samples_per_second: 1,
  }))),
  effects: [
    { axis: 0, level: 1, against: 0, per_cent: 0, interval: [-90, 900], cells: 3 },
    { axis: 1, level: 1, against: 0, per_cent: 216.23, interval: [10, 500], cells: 2 },
    { axis: 1, level: 2, against: 0, per_cent: -20, interval: [-30, -10], cells: 2 },
  ],
  interactions: [{ axes: [0, 1], per_cent: [[-50, 0, 100], [100, 0, -50]] }],
  crossovers: [{ axis: 0, levels: [0, 1], over: "parameters", at: 70.4, interval: [60.2, 81] }],
};
const axes = axesOf(space, study.axes);
const cells = cellsOf(axes, study.cells);
const x = xOf(axes, cells);

test("axes have names and words for each level", () => {
  assert.deepEqual(axes.map(({ name }) => name), ["device", "layers"]);
  assert.deepEqual(axes[1].words, ["2 layers", "3 layers", "4 layers"]);
  const { space: shapes } = rowsNodesDepthStudy();
  const [zipped] = axesOf(shapes, [{ pointers: ["/data/rows", "/model/layers"], values: shapes["/data/rows"].values }]);
  assert.equal(zipped.name, "rows × nodes × depth");
  assert.deepEqual(zipped.words.slice(0, 2), ["200 × 8 × 1", "500 × 16 × 2"]);
  assert.equal(zipped.isScalar, false);
  const words = (values) => axesOf({ "/a": { values } }, [{ pointers: ["/a"], values }])[0].words;
  assert.deepEqual(words([{ type: "sgd" }, { type: "adam" }]), ["sgd", "adam"]);
  assert.deepEqual(words([{ lr: 1 }, { lr: 2 }]), ["a 1", "a 2"]);
  assert.deepEqual(words([[{ type: "linear", out_features: 4 }, { type: "linear", out_features: 8 }, { type: "linear", out_features: 1 }], [{ type: "linear", out_features: 8 }, { type: "linear", out_features: 4 }, { type: "linear", out_features: 1 }]]), ["4-8-1", "8-4-1"]);
  assert.equal(isStudy(space), true);
  assert.equal(isStudy({ "/optimizer/lr": { log_uniform: [1e-3, 1] } }), false);
});

test("cells know their levels, whatever the order of members; unknown ones are left out", () => {
  assert.deepEqual(cells.map(({ at }) => at.join("")), ["00", "01", "02", "10", "11", "12"]);
  const turned = networks[1].map((layer) => Object.fromEntries(Object.entries(layer).reverse()));
  const odd = [{ ...study.cells[0], values: { "/device": "cpu", "/model/layers": turned } }, { ...study.cells[0], values: { "/device": "tpu", "/model/layers": networks[0] } }];
  assert.deepEqual(cellsOf(axes, odd).map(({ at }) => at), [[0, 1]]);
  near(cells[0].epochSeconds, 1e-5);
});

test("lines over parameters, a line a device", () => {
  assert.equal(x.name, "parameters");
  assert.deepEqual(lineAxes(axes, cells, x), [0]);
  const [cpu, cuda] = linesOf(axes, cells, x, 0);
  assert.deepEqual([cpu.word, cuda.word], ["cpu", "cuda:0"]);
  assert.equal(cpu.x, cuda.x);
  assert.deepEqual([...new Set(cpu.x)], sizes);
  assert.deepEqual(cpu.mean.filter((v) => v !== null), [10, 100, 1000]);
  assert.equal(cuda.each.filter((v) => v !== null).length, 6);
  assert.equal(linesOf(axes, cells, x, null).length, 1);
  assert.deepEqual([levelWords(axes[0], 1), levelWords({ name: "lr", words: ["0.1"], isWords: false }, 0)], ["cuda:0", "lr 0.1"]);
  const rates = axesOf({ "/optimizer/lr": { values: [0.1, 0.2] } }, [{ pointers: ["/optimizer/lr"], values: [0.1, 0.2] }]);
  const two = cellsOf(rates, [0.1, 0.2].map((lr, i) => ({ ...study.cells[0], trial: i, values: { "/optimizer/lr": lr } })));
  assert.equal(xOf(rates, two).name, "lr");
  assert.deepEqual(lineAxes(rates, two, xOf(rates, two)), []);
  assert.equal(xOf([axes[0]], cells.slice(0, 1)), null);
});

test("a crossing in words", () => {
  assert.deepEqual(crossingWords({ study, axes, cells, x }), ["cpu is faster below 70 parameters [60 to 81], cuda:0 above."]);
  const more = [...study.crossovers, { axis: 0, levels: [0, 1], over: "parameters", at: 200, interval: null }];
  assert.deepEqual(crossingWords({ study: { ...study, crossovers: more }, axes, cells, x }), ["cpu is faster below 70 parameters [60 to 81], cuda:0 from there to 200 parameters, cpu above."]);
  const noise = [...more, { axis: 0, levels: [0, 1], over: "parameters", at: 210, interval: null }];
  assert.match(crossingWords({ study: { ...study, crossovers: noise }, axes, cells, x })[0], /cross 3 times.*neither is clearly faster/);
  assert.equal(clearCrossovers(more, 0).length, 2);
  assert.equal(clearCrossovers(noise, 0).length, 0);
  assert.equal(clearCrossovers(more, 1).length, 0);
  const slow = cells.map((cell) => (cell.at[0] === 1 ? { ...cell, mean: 2000 } : cell));
  assert.deepEqual(crossingWords({ study: { ...study, crossovers: [] }, axes, cells: slow, x }), ["cpu is faster throughout: 2 to 200 times as fast as cuda:0."]);
  assert.deepEqual(crossingWords({ study: { ...study, metric: "validation.accuracy", mode: "max", crossovers: [] }, axes, cells: slow, x }), ["cuda:0 is better throughout than cpu."]);
});

test("per cent as text", () => {
  assert.deepEqual([12.3, -3.44, 0, 5020, -99.9, null, "NaN"].map(perCentText), [`+12${nbsp}%`, `−3.4${nbsp}%`, `0.0${nbsp}%`, `×${nbsp}51`, `÷${nbsp}1,000`, "–", "–"]);
});

test("ratios lie along a scale that has 1 and not too many ticks", () => {
  for (const ratios of [[1], [0.99, 1.01], [0.8, 1.3], [0.4, 9], [1, 1e5], [1e-9, 1e9], [2.5], [0.1]]) {
    const { share, ticks } = ratioScale(ratios);
    assert.ok(ratios.every((ratio) => share(ratio) >= 0 && share(ratio) <= 1));
    assert.ok(ticks.length >= 1 && ticks.length <= 10, `${ratios}: ${ticks.map(({ text }) => text)}`);
    assert.ok(ticks.some((tick) => Math.abs(tick.share - share(1)) < 1e-9), `${ratios} has no tick at 1`);
    assert.ok(ticks.every((tick, i) => i === 0 || tick.share > ticks[i - 1].share));
  }
});

test("effects are better, worse or not certain", () => {
  const [device, layers] = effectsOf(study, axes);
  assert.deepEqual([device.name, device.against, device.rows[0].word, device.rows[0].verdict], ["device", "cpu", "cuda:0", "open"]);
  assert.deepEqual(layers.rows.map(({ verdict }) => verdict), ["bad", "good"]);
  assert.equal(layers.rows[1].text, `−20${nbsp}% [−30${nbsp}% to −10${nbsp}%]`);
  near(layers.rows[0].ratio, 3.1623);
  assert.equal(effectsOf({ ...study, mode: "max" }, axes)[1].rows[1].verdict, "bad");
  assert.ok(Math.max(...rangeOf([{ ratio: 2, interval: [1e-9, 1e9] }])) <= 4);
});

test("two axes together, the longer one downwards", () => {
  const table = interactionOf(study.interactions[0], axes);
  assert.deepEqual(table.names, ["layers", "device"]);
  assert.deepEqual(table.columns, ["cpu", "cuda:0"]);
  assert.deepEqual(table.cells.map((row) => row.map(({ heat }) => heat)), [[-1, 1], [0, 0], [1, -1]]);
  assert.equal(interactionOf({ axes: [0, 1], per_cent: [[0, 0, 0], [null, null, null]] }, axes), null);
});

test("boxes of repeats", () => {
  near(quantile([1, 2, 3, 4], 0.5), 2.5);
  near(quantile([1, 2, 3, 4], 0.25), 1.75);
  near(quantile([7], 0.9), 7);
  const [box] = boxesOf(axes, cells, 0);
  assert.equal(box.word, "cpu · 2 layers");
  near(box.ends[0], 0.9);
  near(box.box[1], 1.05);
  assert.equal(box.text, `± 14${nbsp}%`);
  assert.deepEqual(boxesOf(axes, cells.map((cell) => ({ ...cell, each: [1] })), 0), []);
});

test("the same job on each device", () => {
  const pairs = pairsOf(axes, cells, 0);
  assert.deepEqual(pairs.map(({ word, cells: both }) => [word, both.length]), [["2 layers", 2], ["3 layers", 2], ["4 layers", 2]]);
  assert.equal(pairsOf(axes, cells, null).length, 6);
});

test("controls, CSV and the extent", () => {
  assert.deepEqual(controlsOf(study.controls, axes), [["data generator", "disc"], ["data standardize", "x"], ["epochs", "20"]]);
  const lines = csvOf(study, axes, cells).trimEnd().split("\n");
  assert.equal(lines[0], "device,layers,outcome,parameters,epoch_microseconds,deviation,repeat 1,repeat 2,epoch_seconds,test_seconds,train_seconds");
  assert.equal(lines.length, 7);
  assert.ok(lines[1].startsWith("cpu,2 layers,ok,22,10,0,9,11,"));
  assert.equal(extentWords(study, axes), "Time of an epoch of 6 cells: device (2) by layers (3), 2 repeats of each.");
});
