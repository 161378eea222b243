// dataset.js: one dataset: what its columns hold, its first rows, and the button that trains on it.

import { getJson, sendJson } from "../../api.js";
import { tuned, tunedTrials } from "../../auto.js";
import { confirmed } from "../../dialog.js";
import { columnName, columnTypes, firstJob, histogram, likelyTarget, missingWords, seriesJob, seriesTime, valueWords } from "../../columns.js";
import { h, replace, s, setText } from "../../dom.js";
import { setFacts } from "../../facts.js";
import { bytes, dateTime, integer } from "../../format.js";
import { worded } from "../../options.js";
import { announce, navigate, noteInAddress, setTitle } from "../../shell.js";
import { limits } from "../../vocabulary.js";
import { deletion, partWords, rowShape } from "./datasets.js";
import { dialectTable, readingOptions } from "./reading.js";
import { fileRead, refusalText, replaceAgreed, uploaded } from "./upload.js";

export const title = "Dataset";

const rowsCounted = 1000; // by the histograms; the daemon's limit
const rowsShown = 10;
const columnsShown = 200; // more would take seconds to draw, and nobody reads them
const bars = { width: 96, height: 24 };

const cellText = (cell) => (cell === null || cell === undefined ? "" : typeof cell === "object" ? JSON.stringify(cell) : String(cell));

function drawing(name, { bars: each, of }) {
  const most = Math.max(...each.map(({ count }) => count));
  const step = bars.width / each.length;
  const said = each.filter(({ count }) => count).slice(0, 12).map(({ label, count }) => `${label}: ${integer(count)}`).join("; ");
  return s("svg", { class: "histogram", viewBox: `0 0 ${bars.width} ${bars.height}`, role: "img", "aria-label": `${name}, ${of === null ? "rows of each word" : `${integer(of)} rows`}. ${said}` },
    each.map(({ label, count }, i) => {
      const size = count ? Math.max(1, (count / most) * bars.height) : 0;
      return s("rect", { x: i * step, y: bars.height - size, width: Math.max(1, step - 1), height: size }, s("title", null, `${label}: ${integer(count)}`));
    }));
}

// "": as it was read.
function typeMenu(column, name, onChange) {
  const read = column.unit ? `${column.type}, ${column.unit}` : column.type;
  const others = columnTypes.filter((type) => type !== column.type && !(column.type === "text" && type === "ignore"));
  return h("select", { "aria-label": `Type of ${name}`, onchange: onChange }, h("option", { value: "" }, read), others.map((type) => h("option", { value: type }, type)));
}

// A table of the columns with a menu each: what it is taken for.
function columnsTable(dataset, rows, onChange) {
  const menus = [];
  const lines = dataset.columns.slice(0, columnsShown).map((column, i) => {
    const name = columnName(column, i);
    const cells = rows.map((row) => (Array.isArray(row) ? row[i] : row?.[name]));
    const counts = histogram(column, cells);
    menus[i] = typeMenu(column, name, onChange);
    return h("tr", null,
      h("th", { scope: "row" }, name, column.note && h("span", { class: "muted column-note" }, column.note)),
      h("td", { "data-label": "Type" }, menus[i]),
      h("td", { class: "number", "data-label": "Missing" }, missingWords(column, dataset.rows)),
      h("td", { class: "number", "data-label": "Distinct" }, column.distinct >= 10000 ? "10,000 or more" : integer(column.distinct)),
      h("td", { class: "values", "data-label": "Values" }, valueWords(column)),
      h("td", { class: "histogram-cell" }, counts && drawing(name, counts)));
  });
  const heads = [["Column"], ["Type"], ["Missing", true], ["Distinct", true], ["Values"], ["Histogram"]];
  const node = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Columns" }, h("table", { class: "stack columns-table" },
    h("thead", null, h("tr", null, heads.map(([word, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : null }, word)))),
    h("tbody", null, lines)));
  return { node, menus };
}

function rowsTable(dataset, rows) {
  const names = dataset.columns.slice(0, columnsShown).map(columnName);
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "First rows" }, h("table", { class: "compact preview" },
    h("thead", null, h("tr", null, names.map((name, i) => h("th", { scope: "col", class: dataset.columns[i].type === "number" ? "number" : null }, name)))),
    h("tbody", null, rows.slice(0, rowsShown).map((row) => h("tr", null, names.map((name, i) => {
      const cell = Array.isArray(row) ? row[i] : row[name];
      return h("td", { class: dataset.columns[i].type === "number" ? "number" : null }, cell === null ? "–" : cellText(cell));
    }))))));
}

// x and y that come apart: a row is a picture, or a list of numbers.
function pairsTable(rows, shape) {
  return h("ul", { class: "pairs" }, rows.slice(0, rowsShown).map(({ x, y }, i) => {
    const picture = shape.length > 1 && pictureOf(x, shape, `Row ${i + 1}`);
    return h("li", null, picture || h("code", null, cellText(x)), y !== undefined && h("span", null, cellText(Array.isArray(y) && y.length === 1 ? y[0] : y)));
  }));
}

// x as [height, width], or as 1 or 3 channels of it; null for anything else.
function pictureOf(x, shape, label) {
  const [channels, height, width] = shape.length === 2 ? [1, ...shape] : shape;
  if ((channels !== 1 && channels !== 3) || x.some((byte) => byte < 0 || byte > 255)) return null;
  const canvas = h("canvas", { width, height, role: "img", "aria-label": label });
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++)
    for (let k = 0; k < 4; k++) image.data[4 * i + k] = k === 3 ? 255 : x[(channels === 3 ? k : 0) * width * height + i];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function faultsNotice(faults) {
  const first = faults.cells.slice(0, 3).map(({ row, column, value }) => `line ${integer(row)}, column ${column}: “${value}”`).join("; ");
  return h("p", { class: "notice warning" }, `${integer(faults.count)} ${faults.count === 1 ? "cell is" : "cells are"} not of the column's type and ${faults.count === 1 ? "counts" : "count"} as missing: ${first}${faults.count > 3 ? "; …" : ""}`);
}

// A dataset that was stored without `notes` has one `note`.
function notesOf(dataset) {
  const notes = (dataset.notes ?? (dataset.note ? [dataset.note] : [])).map(worded);
  if (notes.length < 2) return notes.length ? h("p", { class: "notice" }, notes) : "";
  return h("ul", { class: "notice notes" }, notes.map((note) => h("li", null, note)));
}

// How the file was read, and a form that reads it another way: the browser has it still after an upload, else it is
// chosen once more.
function readingCard(dataset, signal, shown) {
  const known = uploaded(dataset.name);
  const reading = readingOptions({ prefix: "again", dialectOnly: true, given: known?.given });
  const file = h("input", { id: "again-file", type: "file", required: true });
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const go = h("button", { class: "button" }, "Re-read the file");
  const ask = known ? h("p", { class: "muted" }, known.file.name) : h("div", { class: "field" }, h("label", { for: "again-file" }, "The same file"), file);
  const form = h("form", { id: "again", onsubmit: again }, reading.node, ask, h("div", { class: "toolbar upload-go" }, go), failure);
  const node = h("section", { class: "card", "aria-labelledby": "reading-title" }, h("h2", { id: "reading-title" }, "Detected format"), dialectTable(dataset.dialect),
    h("details", { class: "more" }, h("summary", null, "Read it differently"), form));

  async function again(event) {
    event.preventDefault();
    if (!(await replaceAgreed(dataset.name, signal))) return;
    go.disabled = true;
    failure.hidden = true;
    reading.ask("");
    try {
      await fileRead(dataset.name, "", known?.file ?? file.files[0], reading, { signal });
      announce(`${dataset.name} was read again.`);
      node.parentElement.replaceChildren();
      shown();
    } catch (error) {
      if (signal.aborted) return;
      setText(failure, refusalText(error));
      failure.hidden = false;
      go.disabled = false;
      reading.ask(refusalText(error));
    }
  }

  return node;
}

// A box that changes who sees the dataset, and says beside itself why that was refused.
function privateBox(dataset, path, signal) {
  const refused = h("span", { class: "notice error", role: "alert", hidden: true });
  const box = h("input", { type: "checkbox", checked: dataset.visibility === "private" });
  box.addEventListener("change", async () => {
    box.disabled = true;
    refused.hidden = true;
    try {
      const { visibility } = await sendJson("PATCH", path, { visibility: box.checked ? "private" : "public" }, { signal });
      announce(`${dataset.name} is ${visibility}.`);
    } catch (error) {
      if (signal.aborted) return;
      box.checked = !box.checked;
      setText(refused, error.message);
      refused.hidden = false;
    } finally {
      box.disabled = false;
    }
  });
  return [h("label", { class: "check", title: "Visible only to its owner and admins" }, box, "Private"), refused];
}

export async function mount(root, { id, query }, signal) {
  const path = `/v1/datasets/${encodeURIComponent(id)}`;
  const dataset = await getJson(path, { signal });
  const isTable = !!dataset.parts?.train?.table;
  const split = Object.keys(dataset.parts ?? {})[0] ?? "train";
  const page = dataset.role === "weights" ? { data: [], total: 0 } : await getJson(`${path}/rows?split=${split}&limit=${isTable ? rowsCounted : rowsShown}`, { signal });
  setTitle(dataset.name);

  const facts = h("dl", { class: "facts columns" });
  setFacts(facts, [["Format", dataset.format], ["Rows", partWords(dataset.parts) || null], ["A row", rowShape(dataset)], ["Size", bytes(dataset.bytes)],
    ["Classes", dataset.classes?.length ? dataset.classes.slice(0, 12).join(", ") : null], ["Uploaded", dateTime(dataset.created_at)]]);

  const failure = h("div", { class: "notice error", role: "alert", hidden: true });
  const train = h("button", { type: "button", class: "button primary", id: "train" }, "Train");
  const tune = h("button", { type: "button", class: "button", id: "tune", title: "Trains as often as that, with other learning rates, widths and dropouts, and ranks the results" }, "Tune");
  const trials = h("input", { id: "trials", type: "number", min: "1", max: String(limits.trials), step: "1", value: String(tunedTrials), required: true });
  const own = h("a", { class: "button" }, "Configure a job");
  const target = h("select", { id: "target" }, dataset.columns.slice(0, columnsShown).map((column, i) => h("option", { value: i, disabled: column.type === "text" }, columnName(column, i))));
  const task = h("select", { id: "task" }, h("option", { value: "" }, "by the data"), h("option", { value: "regression" }, "a number (regression)"), h("option", { value: "classification" }, "a class (classification)"));
  const words = h("p", { class: "muted train-words" });
  const hint = h("p", { class: "notice forecast", hidden: true });
  const columns = isTable ? columnsTable(dataset, page.data, chosen) : null;

  const types = () => new Map(columns ? columns.menus.flatMap((menu, i) => (menu.value ? [[i, menu.value]] : [])) : []);
  const typeOf = (i) => columns.menus[i].value || dataset.columns[i].type;

  // The target is not ignored.
  function chosen() {
    const at = Number(target.value);
    columns?.menus.forEach((menu, i) => {
      for (const option of menu.options) if (option.value === "ignore") option.disabled = i === at;
      if (i === at && menu.value === "ignore") menu.value = "";
    });
    for (const option of columns ? target.options : []) option.disabled = typeOf(Number(option.value)) === "text";
    const features = columns ? columns.menus.filter((_, i) => i !== at && !["text", "ignore"].includes(typeOf(i))).length : 0;
    setText(words, columns ? `Learns ${target.selectedOptions[0]?.textContent ?? ""} from ${integer(features)} ${features === 1 ? "column" : "columns"}; the network, the loss and the optimizer are chosen by the data.`
      : "The network, the loss and the optimizer are chosen by the data.");
    const time = isTable ? seriesTime(dataset.columns, at) : null;
    hint.hidden = time === null;
    if (time !== null) replace(hint, h("strong", null, time), " is a date: is this a series in time? ", h("button", { type: "button", class: "button", onclick: (event) => submit("jobs", () => seriesJob(dataset, at, time, types()), event.currentTarget) }, `Forecast ${columnName(dataset.columns[at], at)}`), " learns it from its past and shows what comes next. ", h("a", { href: `#/submit?${new URLSearchParams({ dataset: dataset.name, target: columnName(dataset.columns[at], at), time })}` }, "Set the window yourself"), ".");
    train.disabled = tune.disabled = !!columns && features === 0 && dataset.columns.length <= columnsShown;
    own.href = `#/submit?${new URLSearchParams(Object.entries(job().data).map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : value]))}`;
  }

  const job = () => firstJob(dataset, columns ? Number(target.value) : null, types(), task.value);

  // list: "jobs" or "sweeps"
  async function submit(list, spec, button = train) {
    train.disabled = tune.disabled = button.disabled = true;
    failure.hidden = true;
    try {
      const { id: made } = await sendJson("POST", `/v1/${list}`, spec(), { signal });
      announce("Submitted.");
      navigate(`#/${list}/${encodeURIComponent(made)}${button === train ? "" : "?forecast"}`);
    } catch (error) {
      if (signal.aborted) return;
      replace(failure, h("p", null, error.message), error.errors?.length > 0 && h("ul", { class: "faults" }, error.errors.map(({ pointer, detail }) => h("li", null, pointer && h("code", null, pointer), " ", detail))));
      failure.hidden = false;
      train.disabled = tune.disabled = button.disabled = false;
    }
  }

  const remove = h("button", { type: "button", class: "button danger" }, "Delete");
  remove.addEventListener("click", async () => {
    if (!(await confirmed(deletion(dataset), signal))) return;
    try {
      await sendJson("DELETE", path, undefined, { signal });
      announce(`${dataset.name} was deleted.`);
      navigate("#/datasets");
    } catch (error) {
      if (signal.aborted) return;
      setText(kept, `“${dataset.name}” was not deleted: ${error.message}`);
      kept.hidden = false;
    }
  });
  const kept = h("p", { class: "notice error", role: "alert", hidden: true });

  for (const control of [target, task])
    control.addEventListener("change", () => {
      noteInAddress({ target: target.selectedOptions[0]?.textContent, task: task.value });
      chosen();
    });
  train.addEventListener("click", () => submit("jobs", job));
  tune.addEventListener("click", () => trials.reportValidity() && submit("sweeps", () => tuned(job(), Number(trials.value))));
  if (isTable) target.value = String([...target.options].find(({ textContent, disabled }) => !disabled && textContent === query.get("target"))?.value ?? likelyTarget(dataset.columns));
  if ([...task.options].some(({ value }) => value === query.get("task"))) task.value = query.get("task");
  chosen();

  root.append(h("div", { class: "heading" }, h("h1", null, dataset.name), h("div", { class: "toolbar" }, privateBox(dataset, path, signal), own, remove)), kept,
    h("section", { class: "card", "aria-label": "Facts" }, facts), notesOf(dataset), dataset.faults ? faultsNotice(dataset.faults) : "");
  if (dataset.role === "weights") return;
  root.append(h("section", { class: "card", "aria-labelledby": "train-title" }, h("h2", { id: "train-title" }, "Train"),
    h("div", { class: "toolbar" }, isTable && [h("label", { for: "target" }, "Target"), target, h("label", { for: "task" }, "is"), task], train, h("span", { class: "tune" }, tune, h("label", { for: "trials" }, "Trials"), trials)), words, hint, failure));
  const note = dataset.columns.length > columnsShown && h("p", { class: "muted small" }, `The first ${columnsShown} of ${integer(dataset.columns.length)} columns.`);
  if (columns) root.append(h("section", { class: "card" }, h("h2", null, "Columns"), columns.node, note,
    page.total > page.data.length && h("p", { class: "muted small" }, `Histograms of numbers and dates are of the first ${integer(page.data.length)} rows.`)));
  root.append(h("section", { class: "card" }, h("h2", null, `First rows${split === "train" ? "" : `, ${split}`}`),
    isTable ? rowsTable(dataset, page.data) : pairsTable(page.data, dataset.parts[split]?.x?.shape ?? [])));
  if (dataset.dialect) root.append(readingCard(dataset, signal, () => mount(root, { id, query }, signal)));
}
