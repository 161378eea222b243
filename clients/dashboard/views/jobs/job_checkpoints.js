// job_checkpoints.js: the checkpoints of a job, newest first, each with its weights. The list is fetched again after an
// event that says that it has changed, and now and then for a page without a stream.

import { attribute, h, keyed, setText } from "../../dom.js";
import { download, poll } from "../../api.js";
import { age, bytes, dateTime, integer, isEnded, number, seconds } from "../../format.js";

const refreshPauseMs = 1000; // a short segment of training may write several a second
const pollMs = 10000;

// take(button, checkpoint) is called for a click on the row's button.
function row(checkpoint, take) {
  const button = h("button", { type: "button", class: "button", "aria-label": `Download the weights of step ${integer(checkpoint.step)}` }, "Weights");
  button.addEventListener("click", () => take(button, checkpoint));
  const created = h("td", { class: "number", title: dateTime(checkpoint.created_at) });
  const line = h("tr", { "data-step": checkpoint.step },
    h("th", { scope: "row", class: "number" }, integer(checkpoint.step)),
    h("td", { class: "number" }, integer(checkpoint.epoch)),
    h("td", { class: "number" }, number(checkpoint.loss, 5)),
    h("td", { class: "number" }, seconds(checkpoint.train_seconds)),
    h("td", { class: "number" }, bytes(checkpoint.bytes)),
    created,
    h("td", null, button));
  line.created_ = created;
  return line;
}

// act(button, work) runs a request of a button and shows a refusal.
export function checkpointPanel({ url, signal, act }) {
  const body = h("tbody");
  const heads = ["Step", "Epoch", "Loss", "Trained", "Size", "Age"];
  const node = h("section", { class: "card", hidden: true },
    h("h2", null, "Checkpoints"),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Checkpoints" }, h("table", { class: "compact" },
      h("thead", null, h("tr", null, heads.map((word) => h("th", { scope: "col", class: "number" }, word)), h("th", { scope: "col" }, "Download"))), body)));
  let job = null;
  let timer = null;

  const take = (button, { step }) => act(button, () => {
    const name = (job?.name || job?.id || "job").replace(/[^A-Za-z0-9_.-]+/g, "-");
    return download(`${url}/checkpoints/${step}/weights`, `${name}-${step}.safetensors`, { signal });
  });

  const polled = poll(`${url}/checkpoints`, ({ data }) => {
    node.hidden = data.length === 0;
    keyed(body, data, (checkpoint) => `${checkpoint.step} ${checkpoint.created_at}`, (checkpoint) => row(checkpoint, take),
      (line, checkpoint) => setText(line.created_, age(checkpoint.created_at)));
    attribute(node, "data-newest", data[0]?.step);
  }, { signal, interval: () => (job && isEnded(job) ? null : pollMs) });

  signal.addEventListener("abort", () => clearTimeout(timer));
  const changed = () => {
    timer ??= setTimeout(() => {
      timer = null;
      polled.refresh();
    }, refreshPauseMs);
  };
  return {
    node,
    changed, // a checkpoint was written
    jobChanged(fresh) {
      if (job && job.status !== fresh.status) changed();
      job = fresh;
    },
  };
}
