// format.mjs: figures as people read them.
import assert from "node:assert/strict";
import test from "node:test";
import * as format from "../../../clients/dashboard/format.js";

function table(name, rows) {
  test(name, () => {
    for (const [input, expected, ...rest] of rows) assert.equal(format[name](input, ...rest), expected, `${name}(${input})`);
  });
}

table("number", [
  [0, "0"], [1, "1"], [-0.5, "-0.5"], [0.1 + 0.2, "0.3"], [12345, "12,345"], [0.00001234, "1.234e-5"], [1e-9, "1e-9"], [2e38, "2e38"],
  [1234567, "1.235e6"], ["NaN", "NaN"], ["Infinity", "∞"], ["-Infinity", "−∞"], [null, "–"], [undefined, "–"], [0.123456, "0.12346", 5],
]);
table("integer", [[0, "0"], [40000, "40,000"], [null, "–"]]);
table("listOf", [["job_01m84", "jobs"], ["swp_01m84", "sweeps"]]);

table("percent", [[0.997, "99.70\u00a0%", 2], [1, "100\u00a0%", 2], [0, "0\u00a0%"], [null, "–"], ["NaN", "NaN"]]);
table("seconds", [[0, "0 s"], [1.05e-6, "1.05 µs"], [0.042, "42 ms"], [3.21, "3.21 s"], [250, "4 min 10 s"], [null, "–"]]);
table("startWords", [[0.2, "in under 1 s"], [75, "in 1 min 15 s"], [null, "not known"]]);
table("duration", [[0.2, "under 1 s"], [42, "42 s"], [60, "1 min"], [3599.7, "1 h"], [11520, "3 h 12 min"], [187200, "2 d 4 h"], [null, "–"]]);
table("bytes", [[0, "0 B"], [1023, "1023 B"], [1536, "1.5 KiB"], [5e9, "4.66 GiB"], [null, "–"]]);
table("age", [
  ["2026-01-01T00:00:00.000Z", "now", Date.parse("2026-01-01T00:00:01Z")],
  ["2026-01-01T00:00:00.000Z", "59 s", Date.parse("2026-01-01T00:00:59Z")],
  ["2026-01-01T00:00:00.000Z", "5 min", Date.parse("2026-01-01T00:05:30Z")],
  ["2026-01-01T00:00:00.000Z", "2 d", Date.parse("2026-01-03T10:00:00Z")],
  [null, "–"],
]);

test("every state of a job has a word, and the list's filter has every state", () => {
  assert.deepEqual(format.stateNames.map(format.stateWord), ["Queued", "Running", "Pausing", "Paused", "Succeeded", "Failed", "Cancelled"]);
  assert.deepEqual(format.stateNames.filter((status) => format.isEnded({ status })), ["succeeded", "failed", "cancelled"]);
  assert.deepEqual(["early_stopping", "max_seconds", "new"].map(format.stopWord), ["Early stopping", "Time limit", "new"]);
});

test("a job without a name goes by the end of its id", () => {
  assert.equal(format.jobName({ id: "job_0123456789", name: "" }), "…23456789");
  assert.equal(format.jobName({ id: "job_0123456789", name: "a" }), "a");
});
