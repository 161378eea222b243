// submit.js: a new job, or a sweep, where a field is a range. One spec, shown twice: as a form of the usual
// fields and as JSON; a change of either goes to the other. The daemon checks it at each change, and queues
// nothing.

import { h, replace, setText } from "../../dom.js";
import { addressOf, allOf, getJson, sendJson, token } from "../../api.js";
import { filledIn, onceMore, submitPath } from "../../auto.js";
import { likelyTarget, targetIndex } from "../../columns.js";
import { announce, navigate } from "../../shell.js";
import { copyButton } from "../../copy.js";
import { dense, examples } from "../../examples.js";
import { offsetsOf, pointerOffsets, prettyJson as pretty } from "../../json.js";
import { isSweep, specOf, treeOf, treePointer } from "../../space.js";
import { checkPanel } from "./submit_check.js";
import { specForm } from "./submit_form.js";
import { uploadPanel } from "../data/upload.js";

export const title = "Submit";

const draftKey = "epochd-draft";
const typingPauseMs = 250;
const firstWindow = 24; // rows of an example of a series, until the user says how many

const prettyJson = (value) => pretty(value, 60); // as wide as the editor

function draft() {
  try {
    return JSON.parse(sessionStorage.getItem(draftKey));
  } catch {
    return null;
  }
}

// null: there is none any more.
function keepDraft(text) {
  try {
    if (text === null) sessionStorage.removeItem(draftKey);
    else sessionStorage.setItem(draftKey, JSON.stringify(text));
  } catch {
    // no storage, no draft
  }
}

// The job of which a learning rate search has found one.
function withRate(spec, lr) {
  const next = { ...spec, find: null, optimizer: { ...spec.optimizer } };
  if (typeof lr !== "number") return next;
  if (spec.schedule?.type === "one_cycle") next.schedule = { ...spec.schedule, max_lr: Number(lr.toPrecision(3)) };
  else next.optimizer.lr = Number(lr.toPrecision(3));
  return next;
}

// The data of a job that the page of a dataset hands over: the dataset's name, the target and so on.
async function dataOf(query, signal) {
  const { time, columns, ...data } = Object.fromEntries(query);
  const stored = await getJson(`/v1/datasets/${encodeURIComponent(data.dataset)}`, { signal });
  if (stored.parts?.train?.table) {
    const at = data.target === undefined ? likelyTarget(stored.columns) : targetIndex(stored.columns, data);
    data.target = stored.columns[at]?.name ?? at;
  }
  return { ...data, ...(columns && { columns: JSON.parse(columns) }), ...(time && { time, window: { length: firstWindow }, test: 0.2, standardize: ["y"] }) };
}

async function firstSpec(query, signal) {
  for (const kind of ["job", "sweep"])
    if (query.has(kind)) {
      const { spec, found } = await getJson(`/v1/${kind}s/${encodeURIComponent(query.get(kind))}`, { signal });
      return onceMore(found ? withRate(spec, found.proposal) : spec);
    }
  if (query.has("new")) return examples[0].spec();
  const wanted = examples.find(({ id }) => id === query.get("example"));
  if (wanted) return wanted.spec();
  if (!query.has("dataset")) return null;
  const data = await dataOf(query, signal);
  const job = { name: data.dataset, data };
  if (data.time) return { ...job, model: { layers: [...dense(6), { type: "linear", out_features: 1 }] }, loss: "mse", optimizer: { type: "adam", lr: 0.001 }, batch_size: 64, epochs: 50 };
  return filledIn({ ...job, model: "auto" }, { signal }).catch(() => ({ ...job, model: "auto" })); // the check says why
}

// A shell's single quotes hold anything but a single quote.
export function curlCommand(text, to = "/v1/jobs") {
  const auth = token() ? ` -H "Authorization: Bearer $TOKEN"` : "";
  const { href, search } = new URL(addressOf(to), location.href);
  return `curl ${search ? `'${href}'` : href}${auth} -H 'Content-Type: application/json' -d '${text.replaceAll("'", `'\\''`)}'`;
}

const randomKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export async function mount(root, { query }, signal) {
  const example = h("select", { id: "example" }, h("option", { value: "" }, "Start from an example"), examples.map(({ id, title: word }) => h("option", { value: id }, word)));
  example.setAttribute("aria-label", "Example");
  const about = h("p", { class: "muted", hidden: true });
  const submit = h("button", { type: "button", class: "button primary", id: "submit" }, "Submit job");
  const find = h("button", { type: "button", class: "button", id: "find-lr" }, "Find a learning rate");
  const formTitle = h("h2", { id: "form-title" }, "Job");
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const json = h("textarea", { id: "json", class: "code", rows: "24", spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": "json-error" });
  const jsonError = h("span", { class: "error", id: "json-error" });
  const curl = h("pre", { tabindex: "0", "aria-label": "The same with curl" });

  root.append(h("div", { class: "heading" }, h("h1", null, "Submit a job"), h("div", { class: "toolbar" }, example)), about, failure);

  const datasets = await getJson("/v1/datasets?limit=1000", { signal }).then((page) => allOf("/v1/datasets", page, { signal })).catch(() => []);
  const devices = await getJson("/v1/devices", { signal }).then((list) => list.data, () => []);

  const first = await firstSpec(query, signal); // before there is a form that one could type into
  if (signal.aborted) return;

  let spec = null;
  let key = randomKey();
  let typing;

  const form = specForm({ datasets, devices, onChange: fromForm });
  const check = checkPanel({
    signal,
    onPlace: select,
    onErrors: (errors) => form.showErrors(errors.map(({ pointer, detail }) => ({ pointer: spec ? treePointer(spec, pointer) : pointer, detail }))),
    onDefaults: (filled) => form.showDefaults(treeOf(filled)),
  });
  const upload = uploadPanel({
    signal,
    onUploaded(dataset) {
      form.addDataset(dataset);
      if (!spec || dataset.role === "weights") return;
      const tree = treeOf(spec);
      if (tree.data?.dataset !== dataset.name) tree.data = { ...keptData(tree), dataset: dataset.name };
      fromForm(specOf(tree));
      form.show(spec);
    },
  });

  // The members of the present data that hold for a dataset: shares and scaling, none of a generator's.
  function keptData({ data }) {
    const { test, validation, folds, fold, stratify, standardize, normalize } = data ?? {};
    return Object.fromEntries(Object.entries({ test, validation, folds, fold, stratify, standardize, normalize }).filter(([, value]) => value !== undefined));
  }

  root.append(h("div", { class: "submit-columns" },
    h("div", null, h("section", { class: "card", "aria-labelledby": "form-title" }, formTitle, form.node), upload.node),
    h("div", null,
      h("section", { class: "card", "aria-labelledby": "check-title" }, h("div", { class: "check-heading" }, h("h2", { class: "grow", id: "check-title" }, "Check"), find, submit), check.node),
      h("section", { class: "card" }, h("div", { class: "field" }, h("div", { class: "toolbar" }, h("label", { class: "grow heading-label", for: "json" }, "JSON"), copyButton(() => json.value)), json, jsonError)),
      h("section", { class: "card" }, h("div", { class: "toolbar" }, h("h2", { class: "grow" }, "With curl"), copyButton(() => curl.textContent)), curl))));

  // Selects the value of a pointer in the JSON.
  function select(pointer) {
    let offsets = null;
    try {
      offsets = offsetsOf(pointerOffsets(json.value), pointer);
    } catch {
      // not JSON at the moment
    }
    json.focus();
    if (!offsets) return;
    json.setSelectionRange(...offsets);
    const line = json.value.slice(0, offsets[0]).split("\n").length - 1;
    json.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(json).lineHeight));
  }

  function changed() {
    key = randomKey();
    keepDraft(json.value);
    if (spec) {
      setText(curl, curlCommand(json.value, submitPath(spec)));
      setText(submit, isSweep(spec) ? "Submit sweep" : "Submit job");
      setText(formTitle, isSweep(spec) ? "Sweep" : "Job");
      find.hidden = isSweep(spec);
    }
    clearTimeout(typing);
    typing = setTimeout(() => !signal.aborted && spec && check.check(submitPath(spec, "validate=only"), json.value), typingPauseMs);
  }

  function fromForm(next) {
    spec = next;
    json.value = prettyJson(spec);
    json.removeAttribute("aria-invalid");
    setText(jsonError, "");
    submit.disabled = find.disabled = false;
    changed();
  }

  function fromJson() {
    try {
      const parsed = JSON.parse(json.value);
      if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) throw new Error("a job is an object: { … }");
      spec = parsed;
      setText(jsonError, "");
      json.removeAttribute("aria-invalid");
      form.show(spec);
    } catch (error) {
      spec = null;
      setText(jsonError, `Not JSON yet: ${error.message}`);
      json.setAttribute("aria-invalid", "true");
      check.unreadable();
    }
    submit.disabled = find.disabled = !spec;
    changed();
  }

  json.addEventListener("input", fromJson);
  example.addEventListener("change", () => {
    const wanted = examples.find(({ id }) => id === example.value);
    if (!wanted) return;
    const missing = wanted.needs && !form.hasDataset(wanted.needs);
    replace(about, wanted.about, missing && h("strong", null, ` There is no dataset “${wanted.needs}” yet: upload it below.`));
    about.hidden = false;
    if (missing) upload.suggest(wanted.needs);
    json.value = prettyJson(wanted.spec());
    fromJson();
  });
  async function send(button, ...query) {
    button.disabled = true;
    failure.hidden = true;
    try {
      const { id } = await sendJson("POST", submitPath(spec, ...query), json.value, { signal, headers: { "Idempotency-Key": key + query } });
      keepDraft(null);
      announce("Submitted.");
      navigate(`#/${isSweep(spec) ? "sweeps" : "jobs"}/${encodeURIComponent(id)}`);
    } catch (error) {
      if (signal.aborted) return;
      setText(failure, error.message);
      failure.hidden = false;
      check.show(error);
    } finally {
      button.disabled = false;
    }
  }

  submit.addEventListener("click", () => send(submit));
  find.addEventListener("click", () => send(find, "find=lr"));
  signal.addEventListener("abort", () => clearTimeout(typing));

  json.value = first ? prettyJson(first) : draft() ?? prettyJson(examples[0].spec());
  fromJson();
}
