// upload.js: a file becomes a dataset, or a part of one.

import { h, replace, setText } from "../../dom.js";
import { upload } from "../../api.js";
import { announce } from "../../shell.js";
import { bytes, integer, percent } from "../../format.js";
import { readingOptions } from "./reading.js";

const parts = ["train/x", "train/y", "validation/x", "validation/y", "test/x", "test/y"];
const nameAllowed = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/;

// "My houses.csv.gz" -> "My-houses".
const nameOf = (file) => file.name.replace(/(\.(csv|tsv|json|jsonl|ndjson|npy|npz|txt|data|gz|safetensors|ubyte|zip|tar|tgz))+$/i, "").replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^\.+/, "");

// The names of the published files of MNIST give the part.
function partOf(file) {
  const found = /^(train|t10k)-(images|labels)/.exec(file.name);
  return found ? `${found[1] === "train" ? "train" : "test"}/${found[2] === "images" ? "x" : "y"}` : "";
}

// The file of the newest upload, which may be read another way, and how it was read: {name, file, given}.
let newest = null;
export const uploaded = (name) => (newest?.name === name ? newest : null);

// Reads a file as a dataset of that name, whole or as a part. more: options beside those of the form.
export async function fileRead(name, part, file, reading, options, more) {
  const path = `/v1/datasets/${encodeURIComponent(name)}${part ? `/${part}` : ""}${reading.query(more)}`;
  const dataset = await upload(path, file, options);
  newest = part ? null : { name, file, given: reading.values() };
  return dataset;
}

// All that a refusal says.
export const refusalText = (error) => [error.message, ...(error.errors ?? []).map(({ detail }) => detail)].join(" ");

// isTaken(name): a dropped file is sent at once, unless a dataset has its name already.
export function uploadPanel({ signal, isTaken, onUploaded }) {
  const file = h("input", { id: "upload-file", type: "file" });
  const name = h("input", { id: "upload-name", autocomplete: "off", maxlength: "128" });
  const part = h("select", { id: "upload-part" }, h("option", { value: "" }, "the whole dataset"), parts.map((word) => h("option", { value: word }, word)));
  const reading = readingOptions({ prefix: "upload" });
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
    h("details", { class: "more" }, h("summary", null, "How it is read"), reading.node),
    h("div", { class: "toolbar upload-go" }, send, stop),
    bar, outcome, faults, without);
  const node = h("section", { class: "card", "aria-labelledby": "upload-title" }, h("h2", { id: "upload-title" }, "Upload a dataset"), form);
  let named = false; // by the user
  let running = null;

  name.addEventListener("input", () => (named = name.value !== ""));
  function chosen() {
    if (!file.files[0]) return;
    if (!named) name.value = partOf(file.files[0]) ? name.value || "mnist" : nameOf(file.files[0]);
    part.value = partOf(file.files[0]);
    reading.show(!!part.value);
  }

  // A file may be dropped anywhere on the page.
  function dropped(event) {
    const files = event.dataTransfer?.files;
    node.classList.remove("dropping");
    if (!files?.length) return;
    event.preventDefault();
    if (running) return;
    if (files.length > 1) return say("Drop one file at a time; several parts of a dataset are uploaded one by one.", true);
    file.files = files;
    chosen();
    if (!part.value && !isTaken(name.value)) return form.requestSubmit();
    send.focus();
    say(part.value ? "Look at the name and the part, then upload." : `There is a dataset “${name.value}”: upload to replace it, or give another name.`);
  }

  function dragged(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    node.classList.add("dropping");
  }

  document.addEventListener("dragover", dragged, { signal });
  document.addEventListener("drop", dropped, { signal });
  document.addEventListener("dragleave", (event) => !event.relatedTarget && node.classList.remove("dropping"), { signal });
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
    if (!nameAllowed.test(name.value)) return say("A name has letters, digits, “.”, “_” and “-”.", true);
    running = new AbortController();
    send.disabled = true;
    stop.hidden = false;
    bar.hidden = false;
    bar.value = 0;
    say("");
    reading.ask("");
    try {
      const dataset = await fileRead(name.value, part.value, chosen, reading, {
        signal: running.signal,
        onProgress(sent, total) {
          bar.value = total ? sent / total : 0;
          outcome.classList.remove("bad");
          outcome.textContent = sent < total ? `${bytes(sent)} of ${bytes(total)} (${percent(sent / total, 0)})` : "Sent; the daemon reads it.";
        },
      }, more);
      bar.value = 1;
      say(`${dataset.name}: ${integer(dataset.rows)} rows${dataset.columns?.length ? `, ${dataset.columns.length} columns` : ""}, ${dataset.format}.`);
      announce(`Uploaded ${dataset.name}.`);
      onUploaded(dataset);
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

  return {
    node,
    suggest(wanted) {
      name.value = wanted;
      named = true;
    },
  };
}
