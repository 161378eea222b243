// columns.mjs: what the columns of a dataset say, and what a first job and a row to predict are made of.
import assert from "node:assert/strict";
import test from "node:test";
import { cellOf, featureColumns, firstJob, histogram, inTime, likelyTarget, missingWords, seriesTime, valueWords } from "../../../clients/dashboard/columns.js";

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

test("the likely target", () => {
  assert.equal(likelyTarget([age, { ...city, name: "Species" }, since]), 1);
  assert.equal(likelyTarget([age, city, id]), 1);
  assert.equal(likelyTarget([id]), 0);
});

test("the columns that a prediction asks for", () => {
  const columns = [id, age, city, since];
  const asked = (data) => featureColumns(columns, data).map(({ column }) => column.name).join(" ");
  assert.equal(asked({ target: "city" }), "age since");
  assert.equal(asked({}), "age city");
  assert.equal(asked({ target: -2 }), "age since");
  assert.equal(asked({ target: 1, exclude: ["s*"] }), "city");
  assert.equal(asked({ target: 1, features: ["?ity"] }), "city");
  assert.equal(asked({ target: 1, features: [".ity"] }), "");
  const globs = ["open?", "opens", "*", "y"].map((name) => ({ ...age, name }));
  const left = (data) => featureColumns(globs, data).map(({ column }) => column.name).join(" ");
  assert.equal(left({ exclude: ["open?"] }), "opens *"); // a name that exists is no glob
  assert.equal(left({ exclude: ["*"] }), "open? opens");
  assert.equal(left({ exclude: ["o*"] }), "*");
  assert.equal(asked({ target: "-2" }), "age since"); // as an earlier version stored an index
});

test("a field's text as a cell", () => {
  assert.equal(cellOf(age, " 31 "), 31);
  assert.equal(cellOf(age, ""), null);
  assert.equal(cellOf(age, "old"), "old");
  assert.equal(cellOf({ ...city }, "7"), "7");
});
