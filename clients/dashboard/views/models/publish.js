// publish.js: a job's weights get a name, by which any program asks for predictions; and what a model decides by.

import { getJson, sendJson } from "../../api.js";
import { shown } from "../../dialog.js";
import { h, replace, setText } from "../../dom.js";
import { isEnded, number } from "../../format.js";
import { announce, navigate } from "../../shell.js";

export const modelLink = (name) => `#/models/${encodeURIComponent(name)}`;
export const modelPath = (name) => `/v1/models/${encodeURIComponent(name)}`;

const nameOf = (job) => (job.name || job.spec.data?.dataset || "").replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[.-]+/, "") || `model-${job.id.slice(-4)}`;

// "yes from a probability of 0.3 on".
export const thresholdWords = ({ threshold, positive }) => (threshold === null ? "the more probable class" : `${positive ?? "yes"} from a probability of ${number(threshold, 4)} on`);

// Whether a job tells two classes apart.
export const ofTwoClasses = (job) => (job?.metrics?.test ?? job?.metrics?.train)?.classes === 2;

// What decides between two classes: {nodes, member(): of a request; none where a name that is taken keeps what it has}.
function thresholdFields(model) {
  const rule = h("select", { id: "publish-rule" }, [["", "the more probable class"], ["number", "a probability"], ["f1", "the best F1"], ["cost", "the lowest cost"]].map(([value, word]) => h("option", { value }, word)));
  const numberField = (id, label, value) => {
    const input = h("input", { id, type: "number", min: "0", step: "any", value });
    return { input, node: h("div", { class: "field" }, h("label", { for: id }, label), input) };
  };
  const probability = numberField("publish-threshold", "From this probability on", model?.threshold ?? 0.5);
  const costs = [numberField("publish-fp", "A wrong yes costs", 1), numberField("publish-fn", "A wrong no costs", 5)];
  probability.input.max = "1";
  rule.value = typeof model?.threshold === "number" ? "number" : "";
  const show = () => {
    probability.node.hidden = rule.value !== "number";
    for (const cost of costs) cost.node.hidden = rule.value !== "cost";
  };
  let chosen = Boolean(model);
  rule.addEventListener("change", () => {
    chosen = true;
    show();
  });
  show();
  return {
    nodes: [h("div", { class: "field" }, h("label", { for: rule.id }, "A row’s class is decided by"), rule), probability.node, costs.map(({ node }) => node)],
    member() {
      if (!chosen) return {};
      if (rule.value === "number") return { threshold: Number(probability.input.value) };
      return { threshold: rule.value === "cost" ? `fp:${costs[0].input.value},fn:${costs[1].input.value}` : rule.value || null };
    },
  };
}

// What a name that was published before does otherwise by now, in the daemon's words; resolves once that is read.
export async function changesTold({ name, warnings = [] }, signal) {
  if (!warnings.length) return;
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "changes-title" }, h("form", { method: "dialog" },
    h("h2", { id: "changes-title" }, `${name} is published`),
    h("ul", { class: "notice warning" }, warnings.map((line) => h("li", null, line))),
    h("div", { class: "toolbar end" }, h("button", { class: "button primary" }, "Close"))));
  await shown(dialog, signal);
}

// Publishes a job under a name that is asked for; model: one whose threshold is changed. Resolves to the model, or to null
// where the user cancels.
export async function publishDialog(job, model, signal) {
  const name = h("input", { id: "publish-name", required: true, maxlength: "128", autocomplete: "off", pattern: "[A-Za-z0-9_\\-][A-Za-z0-9_.\\-]*", title: "Letters, digits, “.”, “_” and “-”", value: model?.name ?? nameOf(job), readonly: Boolean(model) });
  const threshold = ofTwoClasses(job) ? thresholdFields(model) : null;
  const hidden = h("input", { id: "publish-private", type: "checkbox", checked: (model ?? job).visibility === "private" });
  const taken = h("p", { class: "notice warning", role: "status", hidden: true });
  const refused = h("p", { class: "notice error", role: "alert", hidden: true });
  const go = h("button", { class: "button primary" }, model ? "Save" : "Publish");
  let published = null;

  const form = h("form", null,
    h("h2", { id: "publish-title" }, model ? `How ${model.name} decides` : "Publish as a model"),
    !model && [h("p", { class: "muted" }, "Programs request a model by its name. The job is kept while a model refers to it."),
      h("div", { class: "field" }, h("label", { for: name.id }, "Name"), name), taken],
    threshold?.nodes,
    !model && h("label", { class: "check" }, hidden, "Private: visible only to its owner and admins"),
    refused,
    h("div", { class: "toolbar end" }, h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"), go));
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "publish-title" }, form);

  // A name that is there goes to this job.
  const names = model ? [] : await getJson("/v1/models", { signal }).then(({ data }) => data.map((each) => each.name), () => []);
  function look() {
    if (model) return;
    taken.hidden = !names.includes(name.value);
    setText(taken, taken.hidden ? "" : `Model “${name.value}” already exists: this job will replace it, and keep its threshold if the classes are the same.`);
    setText(go, taken.hidden ? "Publish" : "Replace");
  }

  name.addEventListener("input", look);
  look();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    refused.hidden = true;
    try {
      published = await sendJson("PUT", modelPath(name.value), {
        job: job.id, ...threshold?.member(), ...(model ? {} : { visibility: hidden.checked ? "private" : "public" }),
      }, { signal });
      dialog.close();
    } catch (error) {
      setText(refused, error.message);
      refused.hidden = false;
    } finally {
      go.disabled = false;
    }
  });
  await shown(dialog, signal);
  if (published) await changesTold(published, signal);
  return published;
}

// For the page of a job: links to the models that it is, and a button that publishes it. {nodes, jobChanged(job)}
export function publishButton({ signal }) {
  const links = h("span", { class: "tags", hidden: true });
  const button = h("button", { type: "button", class: "button primary", hidden: true }, "Publish");
  let job = null;
  let asked = false;

  button.addEventListener("click", async () => {
    const model = await publishDialog(job, null, signal);
    if (model) {
      announce(`Published as ${model.name}.`);
      navigate(modelLink(model.name));
    } else button.focus();
  });
  return {
    nodes: [links, button],
    jobChanged(fresh) {
      job = fresh;
      button.hidden = !job.weights || job.status === "failed" || !isEnded(job);
      if (button.hidden || asked) return;
      asked = true;
      getJson("/v1/models", { signal }).then(({ data }) => {
        const names = data.filter((model) => model.job === job.id).map((model) => model.name);
        links.hidden = !names.length;
        replace(links, names.map((name) => h("a", { class: "tag", href: modelLink(name) }, `model ${name}`)));
      }, () => {});
    },
  };
}
