// format.mjs: figures as people read them.
import assert from "node:assert/strict";
import test from "node:test";
import * as format from "../../../clients/dashboard/format.js";

function table(name, rows) {
  test(name, () => {
    for (const [input, expected, ...rest] of rows) assert.deepEqual(format[name](input, ...rest), expected, `${name}(${input})`);
  });
}

table("number", [
  [0, "0"], [1, "1"], [-0.5, "-0.5"], [0.1 + 0.2, "0.3"], [12345, "12,345"], [0.00001234, "1.234e-5"], [1e-9, "1e-9"], [2e38, "2e38"],
  [1234567, "1,234,567"], [1454870.3, "1,454,870"], [1234.56, "1235"], [2024, "2024"], [99999.7, "100,000"], [99999.7, "99,999.7", 6], [-98765.4, "-98,765"], [1e9, "1,000,000,000"], [1.5e12, "1.5e12"], ["NaN", "NaN"], ["Infinity", "∞"], ["-Infinity", "−∞"], [null, "–"], [undefined, "–"], [0.123456, "0.12346", 5],
]);
table("tickTexts", [
  [[0, 0.5, 1, 1.5], ["0", "0.5", "1.0", "1.5"]], [[0, 500000, 1000000, 1500000], ["0", "500,000", "1,000,000", "1,500,000"]],
  [[0, 0.00005, 0.0001], ["0", "5e-5", "1e-4"]], [[0, 2e9, 4e10], ["0", "2e9", "4e10"]], [[0.30000000000000004, 0.4], ["0.3", "0.4"]],
  [[0.001, null, 0.1, 1, 1000], ["0.001", "", "0.1", "1", "1000"], true], [[1e-6, null, 0.001, 1], ["1e-6", "", "1e-3", "1e0"], true], [[-2, -1], ["-2", "-1"]], [[1234.001, 1234.002], ["1234.001", "1234.002"]], [[1990, 2000], ["1990", "2000"]], [[5000, 10000], ["5,000", "10,000"]], [[], []],
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
