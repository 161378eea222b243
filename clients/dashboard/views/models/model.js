// model.js: one published model: what it serves and by which threshold, a form to try it, programs that ask it, and the
// jobs that could take its place.

import { getJson, sendJson } from "../../api.js";
import { confirmed } from "../../dialog.js";
import { copyButton } from "../../copy.js";
import { h, setText } from "../../dom.js";
import { setFacts } from "../../facts.js";
import { age, dateTime, jobName } from "../../format.js";
import { byColumns, inferRequest, pythonProgram } from "../../inference.js";
import { leadingWords } from "../../job_order.js";
import { prettyJson } from "../../json.js";
import { announce, navigate, setTitle } from "../../shell.js";
import { scoreWords } from "../jobs/job_auto.js";
import { predictPanel } from "../predict/job_predict.js";
import { curlCommand } from "../submit/submit.js";
import { answerWords, inputWords } from "./models.js";
import { changesTold, modelPath, ofTwoClasses, publishDialog, thresholdWords } from "./publish.js";

export const title = "Model";

const mostJobs = 20; // that could take its place

const jobLink = (job, word) => h("a", { href: `#/jobs/${encodeURIComponent(job)}`, title: job }, word);

// A program in a box, with a button that copies it.
function program(word) {
  const text = h("pre", { tabindex: "0", "aria-label": `The same with ${word}` });
  return { text, node: h("div", { class: "program" }, h("div", { class: "toolbar" }, h("h3", { class: "grow" }, word), copyButton(() => text.textContent, `Copy ${word}`)), text) };
}

export async function mount(root, { id }, signal) {
  const path = modelPath(id), infer = `/v2/models/${encodeURIComponent(id)}/infer`;
  const model = await getJson(path, { signal });
  const { inputs } = await getJson(`/v2/models/${encodeURIComponent(id)}`, { signal });
  const job = await getJson(`/v1/jobs/${encodeURIComponent(model.job)}`, { signal }).catch(() => null); // it may be another's
  setTitle(model.name);
  const again = () => mount(root, { id }, signal);

  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  async function act(button, work) {
    button.disabled = true;
    failure.hidden = true;
    try {
      await work();
    } catch (error) {
      if (signal.aborted) return;
      setText(failure, error.message);
      failure.hidden = false;
    } finally {
      button.disabled = false;
    }
  }

  const decide = h("button", { type: "button", class: "button", hidden: !ofTwoClasses(job) }, "Threshold");
  decide.addEventListener("click", async () => {
    if (!(await publishDialog(job, model, signal))) return decide.focus();
    announce("Saved.");
    again();
  });
  const remove = h("button", { type: "button", class: "button danger" }, "Unpublish");
  remove.addEventListener("click", () => act(remove, async () => {
    if (!(await confirmed({ title: `Unpublish ${model.name}?`, lines: ["Requests for it then return 404. Its job and the weights remain."], button: "Unpublish" }, signal))) return;
    await sendJson("DELETE", path, undefined, { signal });
    announce(`${model.name} was unpublished.`);
    navigate("#/models");
  }));
  const box = h("input", { type: "checkbox", checked: model.visibility === "private" });
  box.addEventListener("change", () => act(box, async () => {
    try {
      model.visibility = (await sendJson("PATCH", path, { visibility: box.checked ? "private" : "public" }, { signal })).visibility;
      announce(`${model.name} is ${model.visibility}.`);
    } finally {
      box.checked = model.visibility === "private";
    }
  }));

  const facts = h("dl", { class: "facts columns" });
  setFacts(facts, [
    ["Serves", job ? jobLink(model.job, jobName(job)) : h("code", null, model.job)],
    ["Test", job && scoreWords(job)],
    ["Asked for", inputWords(inputs)],
    ["Answers", answerWords(model) === "a class" ? `a class: ${thresholdWords(model)}` : answerWords(model)],
    ["Published", dateTime(model.published_at)],
    ["Owner", model.owner || null],
    ["Asked at", h("code", null, infer)],
  ]);

  const [curl, python] = [program("curl"), program("Python")];
  const predict = predictPanel({ url: `/v1/jobs/${encodeURIComponent(model.job)}`, signal, model: { ...model, inputs }, onRow: showPrograms });
  function showPrograms(row) {
    const request = inferRequest(inputs, row);
    setText(curl.text, curlCommand(prettyJson(request, 88), infer));
    setText(python.text, pythonProgram(infer, request));
  }
  const numbers = inputs[0].shape.slice(1).reduce((all, n) => all * n, 1);
  if (!byColumns(inputs)) showPrograms(Array.from({ length: numbers }, () => 0));

  root.replaceChildren(
    h("div", { class: "heading" }, h("h1", null, model.name), h("div", { class: "toolbar" }, h("label", { class: "check", title: "Visible only to its owner and admins" }, box, "Private"), decide, remove)),
    failure,
    h("section", { class: "card", "aria-label": "Facts" }, facts),
    predict.node,
    h("section", { class: "card", "aria-labelledby": "programs-title" }, h("h2", { id: "programs-title" }, "From a program"),
      h("p", { class: "muted" }, byColumns(inputs) ? "The row is that of the form above. Any KServe V2 client works unchanged." : `One row of ${inputWords(inputs)}. Any KServe V2 client works unchanged.`),
      h("div", { class: "grid" }, curl.node, python.node)));
  predict.jobChanged(job);
  if (job?.spec.data?.dataset) root.append(await versions());

  // The trainings of the same target, newest first: the name goes to another at a click.
  async function versions() {
    const { data } = await getJson(`/v1/jobs?${new URLSearchParams({ search: job.spec.data.dataset, state: "succeeded", limit: 200 })}`, { signal }).catch(() => ({ data: [] }));
    const alike = data.filter(({ spec, weights }) => weights && spec.data?.dataset === job.spec.data.dataset && spec.data.target === job.spec.data.target);
    const listed = [...(alike.some((each) => each.id === job.id) ? [] : [job]), ...alike].slice(0, mostJobs);
    const line = (each) => {
      const serve = h("button", { type: "button", class: "button", "aria-label": `Serve this one: ${jobName(each)}, ${each.id.slice(-8)}` }, "Serve this one");
      serve.addEventListener("click", () => act(serve, async () => {
        await changesTold(await sendJson("PUT", path, { job: each.id }, { signal }), signal);
        announce(`${model.name} serves ${jobName(each)}.`);
        await again();
      }));
      return h("tr", null, h("th", { scope: "row" }, jobLink(each.id, jobName(each)), each.name && h("div", { class: "muted small" }, `…${each.id.slice(-8)}`)),
        h("td", null, leadingWords(each)), h("td", { title: dateTime(each.finished_at) }, age(each.finished_at)), h("td", { class: "number" }, each.id === model.job ? h("strong", null, "served") : serve));
    };
    return h("section", { class: "card", "aria-labelledby": "versions-title" }, h("h2", { id: "versions-title" }, "Versions"),
      h("p", { class: "muted" }, "The name serves one job. Another job can replace it without downtime. These are the trainings of the same target."),
      h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Jobs of the same target" }, h("table", { class: "compact versions" },
        h("thead", null, h("tr", null, ["Job", "Test", "Age"].map((word) => h("th", { scope: "col" }, word)), h("th", { scope: "col" }, h("span", { class: "hidden" }, "Serve")))),
        h("tbody", null, listed.map(line)))));
  }
}
