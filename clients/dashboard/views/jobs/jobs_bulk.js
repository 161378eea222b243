// jobs_bulk.js: the buttons that cancel or delete the jobs that are picked, after a question.

import { h, replace, setText } from "../../dom.js";
import { sendJson } from "../../api.js";
import { actedOn, bulkOutcome, bulkQuestion } from "../../bulk.js";
import { confirmed } from "../../dialog.js";
import { integer, isEnded, jobName } from "../../format.js";
import { announce } from "../../shell.js";

const requests = {
  cancel: (id) => ["POST", `/v1/jobs/${encodeURIComponent(id)}/cancel`],
  delete: (id) => ["DELETE", `/v1/jobs/${encodeURIComponent(id)}`],
};
const words = { cancel: "Cancel", delete: "Delete" };

// onDone(jobs that were refused) follows an action. show(jobs) follows the choice.
export function bulkButtons({ signal, onDone }) {
  let picked = [];
  let busy = false;
  const outcome = h("div", { class: "notice", role: "status", hidden: true });
  const buttons = Object.keys(requests).map((action) => {
    const node = h("button", { type: "button", class: "button danger", hidden: true, "data-action": action, onclick: () => run(action) });
    return { action, node };
  });

  // One after the other: of a thousand the daemon does others' work in between.
  async function run(action) {
    const jobs = actedOn(action, picked);
    if (!(await confirmed(bulkQuestion(action, picked), signal))) return;
    busy = true;
    show(picked);
    const refused = [];
    let late = 0;
    for (const [i, job] of jobs.entries()) {
      setText(outcome, `${integer(i)} of ${integer(jobs.length)} …`);
      outcome.hidden = false;
      try {
        const fresh = await sendJson(...requests[action](job.id), undefined, { signal });
        if (action === "cancel" && isEnded(fresh) && fresh.status !== "cancelled") late++;
      } catch (error) {
        if (signal.aborted) return;
        if (error.status !== 404) refused.push({ job, error });
        else if (action === "cancel") late++; // it ended, and is gone already
      }
    }
    busy = false;
    const lines = bulkOutcome(action, { done: jobs.length - late - refused.length, late, refused }, jobName);
    outcome.classList.toggle("error", refused.length > 0);
    replace(outcome, lines.map((line) => h("p", null, line)));
    announce(lines[0]);
    onDone(refused.map(({ job }) => job));
  }

  function show(jobs) {
    picked = jobs;
    for (const { action, node } of buttons) {
      const count = actedOn(action, jobs).length;
      node.hidden = count === 0;
      node.disabled = busy;
      setText(node, `${words[action]} ${integer(count)}`);
    }
  }

  return { nodes: buttons.map(({ node }) => node), outcome, show };
}
