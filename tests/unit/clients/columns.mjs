// columns.mjs: what the columns of a dataset say, and what a first job and a row to predict are made of.
import assert from "node:assert/strict";
import test from "node:test";
import { cellOf, firstJob, histogram, inTime, likelyTarget, missingWords, seriesJob, seriesTime, timeAfter, valueWords } from "../../../clients/dashboard/columns.js";

const age = { name: "age", type: "number", min: 0, max: 79, integer: true, missing: 3 };
const city = { name: "city", type: "category", min: 0, max: 1, distinct: 2, missing: 0, categories: [{ value: "Oslo", count: 7 }, { value: "Bergen", count: 2 }] };
const since = { name: "since", type: "date", min: 0, max: 86400 * 366, integer: true, missing: 0 };
const id = { name: "id", type: "text", min: 0, max: 0, missing: 0 };

test("a column's values in a word", () => {
  assert.equal(valueWords(age), "0 … 79");
  assert.equal(valueWords(city), "Oslo, Bergen");
  assert.equal(valueWords(since), "1970-01-01 … 1971-01-02");
  assert.equal(valueWords({ ...since, form: "time", min: 3600, max: 7200 }), "01:00:00 … 02:00:00");
  assert.equal(valueWords({ ...age, max: 0 }), "0");
  assert.equal(valueWords(id), "text, not learnt from");
  assert.equal(missingWords(age, 30), "3 (10.0\u00a0%)");
  assert.equal(missingWords(city, 30), "0");
});

test("a histogram counts each cell once", () => {
  const cells = Array.from({ length: 80 }, (_, i) => i);
  const { bars, of } = histogram(age, [...cells, null, undefined]);
  assert.equal(of, 80);
  assert.equal(bars.reduce((sum, { count }) => sum + count, 0), 80);
  assert.deepEqual([bars[0], bars.at(-1)], [{ label: "0 … 6", count: 7 }, { label: "77 … 79", count: 3 }]);
  assert.deepEqual(histogram(age, [0, 1, 1]).bars, [{ label: "0", count: 1 }, { label: "1", count: 2 }]);
  assert.equal(histogram({ ...age, integer: false }, [0.5, 1.5, 12.5]).bars.length, 12);
  assert.deepEqual(histogram(city, []), { bars: [{ label: "Oslo", count: 7 }, { label: "Bergen", count: 2 }], of: null });
  assert.equal(histogram(since, ["1970-01-01", "1970-12-31", "1970-06-01T12:00:00"]).of, 3);
  for (const cells of [[], [1], [2, 2], [null, null], [1e308, -1e308]]) assert.equal(histogram(age, cells), null);
  assert.equal(histogram(id, ["a", "b"]), null);
});

test("rows in the order of time", () => {
  assert.ok(inTime(["2024-01-01", "2024-01-01T12:00:00", "2024-01-02"]));
  assert.ok(inTime([1, 1, 2.5]));
  assert.ok(!inTime(["2024-01-02", "2024-01-01"]));
  assert.ok(!inTime([1, null]));
});

test("a first job", () => {
  const dataset = { name: "people", columns: [id, age, city, since, { ...age, name: null }] };
  assert.deepEqual(firstJob(dataset, 2, new Map()), { name: "people", data: { dataset: "people", target: "city" }, model: "auto" });
  assert.deepEqual(firstJob(dataset, null, new Map()).data, { dataset: "people" });
  assert.deepEqual(firstJob(dataset, 4, new Map([[1, "ignore"], [4, "category"]])).data, { dataset: "people", target: 4, columns: { age: { type: "ignore" }, 4: { type: "category" } } });
});

test("a date beside a number orders a series", () => {
  assert.equal(seriesTime([id, since, age], 2), "since");
  assert.equal(seriesTime([since, age], 0), null);
  assert.equal(seriesTime([since, city], 1), null);
  assert.equal(seriesTime([{ ...since, form: "time" }, age], 1), null);
});

test("a series is learnt from its own past, one a word where times come again", () => {
  const hours = { name: "hour", type: "date", distinct: 600 }, sales = { name: "sales", type: "number" };
  const shop = (count) => ({ name: "shop", type: "category", missing: 0, categories: [{ value: "a", count }, { value: "b", count }] });
  assert.deepEqual(seriesJob({ name: "sales", rows: 600, columns: [hours, shop(300), sales] }, 2, "hour", new Map()), { name: "sales",
    data: { dataset: "sales", target: "sales", task: "regression", time: "hour", features: ["sales"], window: { length: 24 } }, model: "auto" });
  assert.deepEqual(seriesJob({ name: "sales", rows: 1200, columns: [hours, shop(600), sales] }, 2, "hour", new Map()).data.window, { length: 24, group: "shop" });
  assert.deepEqual(seriesJob({ name: "sales", rows: 80, columns: [hours, shop(40), sales] }, 2, "hour", new Map()).data.window, { length: 6 });
});

test("the likely target", () => {
  assert.equal(likelyTarget([age, { ...city, name: "Species" }, since]), 1);
  assert.equal(likelyTarget([age, city, id]), 1);
  assert.equal(likelyTarget([id]), 0);
});

test("a field's text as a cell", () => {
  assert.equal(cellOf(age, " 31 "), 31);
  assert.equal(cellOf(age, ""), null);
  assert.equal(cellOf(age, "old"), "old");
  assert.equal(cellOf({ ...city }, "7"), "7");
});

test("a series goes on in its step, written as it is", () => {
  assert.equal(timeAfter(["2024-01-01T22:00", "2024-01-01T23:00"], 2), "2024-01-02T01:00");
  assert.equal(timeAfter(["2024-01-01 22:00:00", "2024-01-01 22:30:00"], 1), "2024-01-01 23:00:00");
  assert.equal(timeAfter(["2024-02-27", "2024-02-28"], 2), "2024-03-01");
  assert.equal(timeAfter(["2024-01-15", "2024-02-15"], 3), "2024-05-15", "months, however long");
  assert.equal(timeAfter([3, 5], 2), 9);
  assert.deepEqual([["2024-01-31", "2024-02-29"], ["10:00", "11:00"], ["x", "y"], ["2024-01-01"]].map((cells) => timeAfter(cells, 1)), [null, null, null, null]);
});
