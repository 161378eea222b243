// upload.js: a file becomes a dataset, or a part of one.

import { h, replace, setText } from "../../dom.js";
import { getJson, sendJson, upload } from "../../api.js";
import { confirmed } from "../../dialog.js";
import { takeFiles } from "../../drop.js";
import { announce } from "../../shell.js";
import { bytes, integer, percent } from "../../format.js";
import { datasetParts } from "../../vocabulary.js";
import { readingOptions } from "./reading.js";

const parts = Object.keys(datasetParts);
const nameAllowed = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/;

// The names of the published files of MNIST give the part.
const partOf = (file) => parts.find((part) => datasetParts[part] && file.name.startsWith(datasetParts[part]) && file.name.startsWith("idx", datasetParts[part].length + 1)) ?? "";

// The file of the newest upload, which may be read another way, and how it was read: {name, file, given}.
let newest = null;
export const uploaded = (name) => (newest?.name === name ? newest : null);

// Reads a file as a dataset of that name, whole or as a part; name "": that of the file. more: options beside those of the form.
export async function fileRead(name, part, file, reading, options, more) {
  const path = name ? `/${encodeURIComponent(name)}${part ? `/${part}` : ""}${reading.query(more)}` : reading.query({ ...more, file: file.name });
  const dataset = await upload(name ? "PUT" : "POST", `/v1/datasets${path}`, file, options);
  newest = part ? null : { name: dataset.name, file, given: reading.values() };
  return dataset;
}

// All that a refusal says.
export const refusalText = (error) => [error.message, ...(error.errors ?? []).map(({ detail }) => detail)].join(" ");

// Of a file that needs no word about how it is read.
export const asFound = { values: () => ({}), query: (more) => (more ? `?${new URLSearchParams(more)}` : "") };

// Stores a file; where the name means other rows, the daemon chooses another, and says so.
export const fileStored = (name, file, reading, options, more) => fileRead(name, "", file, reading, options, { ...more, replace: "false" });

// Whether a name may mean other rows from here on: the user is asked where jobs read those that it has.
export async function replaceAgreed(name, signal) {
  const { jobs } = await getJson(`/v1/datasets/${encodeURIComponent(name)}`, { signal }).catch(() => ({ jobs: 0 }));
  return !jobs || confirmed({ title: `Replace ${name}?`, lines: [`${jobsWords(jobs)} on the rows that it has. What was learnt keeps working; the rows go.`], button: "Replace the rows" }, signal);
}

// "2 jobs were trained".
export const jobsWords = (jobs) => `${integer(jobs)} ${jobs === 1 ? "job was" : "jobs were"} trained`;

// What is said of a dataset that was stored, with a button that gives it the name that it was to have. onReplaced(dataset,
// words).
function asideWords(dataset, replaceIt, onReplaced) {
  const taken = dataset.beside;
  const said = h("span", null, `${dataset.warnings.join(". ")}. `);
  if (taken === null) return [said];
  const button = h("button", { type: "button", class: "button small-button" }, `Replace “${taken}”`);
  button.addEventListener("click", async () => {
    if (!(await replaceAgreed(taken, new AbortController().signal))) return; // the view that stored it may have gone
    button.disabled = true;
    try {
      const replaced = await replaceIt();
      await sendJson("DELETE", `/v1/datasets/${encodeURIComponent(dataset.name)}`).catch(() => {}); // a job may need it already
      button.remove();
      setText(said, `“${taken}” now has the rows of this file.`);
      onReplaced(replaced, [said]);
    } catch (error) {
      button.disabled = false;
      setText(said, `“${taken}” was not replaced: ${error.message} `);
    }
  });
  return [said, button];
}

// onUploaded(dataset, words): words are nodes about a name that was taken, which stand in the panel, or [].
export function uploadPanel({ signal, onUploaded }) {
  const file = h("input", { id: "upload-file", type: "file" });
  const name = h("input", { id: "upload-name", autocomplete: "off", maxlength: "128", placeholder: "that of the file" });
  const part = h("select", { id: "upload-part" }, h("option", { value: "" }, "the whole dataset"), parts.map((word) => h("option", { value: word }, word)));
  const reading = readingOptions({ prefix: "upload" });
  const over = h("input", { id: "upload-replace", type: "checkbox" });
  const send = h("button", { class: "button" }, "Upload");
  const stop = h("button", { type: "button", class: "button", hidden: true }, "Stop");
  const bar = h("progress", { class: "meter", max: "1", value: "0", "aria-label": "Upload", hidden: true });
  const outcome = h("p", { class: "upload-said", role: "status" });
  const faults = h("ul", { class: "faults", hidden: true });
  const without = h("button", { type: "button", class: "button", hidden: true }, "Leave these pictures out");
  const form = h("form", { id: "upload" },
    h("div", { class: "fields" },
      h("div", { class: "field wide" }, h("label", { for: "upload-file" }, "Drop a file here, or choose one: CSV, JSON, NPY, NPZ, IDX, safetensors, ZIP or TAR of pictures, gz of any"), file),
      h("div", { class: "field" }, h("label", { for: "upload-name" }, "Name"), name),
      h("div", { class: "field" }, h("label", { for: "upload-part" }, "It is"), part)),
    h("details", { class: "more" }, h("summary", null, "Reading options"), reading.node),
    h("div", { class: "toolbar upload-go" }, send, stop, h("label", { class: "check", title: "Otherwise “flats” is stored as “flats-2” if the name is taken" }, over, "Replace a dataset of this name")),
    bar, outcome, faults, without);
  const node = h("section", { class: "card", "aria-labelledby": "upload-title" }, h("h2", { id: "upload-title" }, "Upload a dataset"), form);
  let named = false; // by the user
  let running = null;

  name.addEventListener("input", () => (named = name.value !== ""));
  function chosen() {
    if (!file.files[0]) return;
    if (!named) name.value = partOf(file.files[0]) ? name.value || "mnist" : "";
    part.value = partOf(file.files[0]);
    reading.show(!!part.value);
  }

  function dropped(files) {
    if (running) return;
    if (files.length > 1) return say("Drop one file at a time: pictures as a ZIP with a folder per class, the parts of a dataset one by one.", true);
    file.files = files;
    chosen();
    if (!part.value) return form.requestSubmit();
    send.focus();
    say("Check the name and the part, then upload.");
  }

  file.addEventListener("change", chosen);
  part.addEventListener("change", () => reading.show(!!part.value));
  stop.addEventListener("click", () => running?.abort());
  signal.addEventListener("abort", () => running?.abort());

  function say(text, bad, errors = []) {
    outcome.classList.toggle("bad", !!bad);
    setText(outcome, text);
    replace(faults, errors.map(({ pointer, detail }) => h("li", null, pointer && [h("code", null, pointer), " "], detail)));
    faults.hidden = without.hidden = errors.length === 0; // only an archive of pictures has several
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    return start();
  });
  without.addEventListener("click", () => start({ broken: "skip" }));

  async function start(more) {
    const chosen = file.files[0];
    if (!chosen) return say("Choose a file first.", true);
    if ((part.value || name.value) && !nameAllowed.test(name.value)) return say("A name can contain letters, digits, “.”, “_” and “-”.", true);
    if (over.checked && !name.value && !part.value) return say("Give the name of the dataset to replace.", true);
    if (over.checked && !part.value && !(await replaceAgreed(name.value, signal))) return;
    running = new AbortController();
    send.disabled = true;
    stop.hidden = false;
    bar.hidden = false;
    bar.value = 0;
    say("");
    reading.ask("");
    try {
      const store = part.value || over.checked ? (file_, reading_, options, also) => fileRead(name.value, part.value, file_, reading_, options, { ...also, ...(part.value ? {} : { replace: "true" }) }) : (...given) => fileStored(name.value, ...given);
      const dataset = await store(chosen, reading, {
        signal: running.signal,
        onProgress(sent, total) {
          bar.value = total ? sent / total : 0;
          outcome.classList.remove("bad");
          outcome.textContent = sent < total ? `${bytes(sent)} of ${bytes(total)} (${percent(sent / total, 0)})` : "Uploaded; the daemon is reading it.";
        },
      }, more);
      bar.value = 1;
      say(`${dataset.name}: ${integer(dataset.rows)} rows${dataset.columns?.length ? `, ${dataset.columns.length} columns` : ""}, ${dataset.format}.`);
      announce(`Uploaded ${dataset.name}.`);
      const words = dataset.warnings.length ? asideWords(dataset, () => fileRead(dataset.beside, "", chosen, reading, {}, more), onUploaded) : [];
      outcome.append(" ", ...words);
      onUploaded(dataset, words);
    } catch (error) {
      if (signal.aborted) return;
      say(error.message, true, error.errors);
      reading.ask(refusalText(error)); // it may be read otherwise
    } finally {
      send.disabled = false;
      stop.hidden = true;
      bar.hidden = true;
      running = null;
    }
  }

  queueMicrotask(() => takeFiles(dropped, signal)); // once the form is in the page

  return {
    node,
    suggest(wanted) {
      name.value = wanted;
      named = true;
    },
  };
}
