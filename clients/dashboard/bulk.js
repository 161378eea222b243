// bulk.js: what becomes of several jobs at once, in words before it happens.

import { integer, isEnded } from "./format.js";

const jobs = (count) => `${integer(count)} ${count === 1 ? "job" : "jobs"}`;
const verb = (count, one, many) => (count === 1 ? one : many);

// Which of the jobs an action ("cancel" or "delete") is for.
export const actedOn = (action, picked) => picked.filter((job) => isEnded(job) === (action === "delete"));

// {title, lines, button}: the question that is asked before it.
export function bulkQuestion(action, picked) {
  const mine = actedOn(action, picked);
  const others = picked.length - mine.length;
  const lines = [];
  if (action === "cancel") {
    const waiting = mine.filter((job) => job.status === "queued").length;
    const begun = mine.length - waiting;
    if (begun) lines.push(`${jobs(begun)} that ${verb(begun, "has", "have")} begun ${verb(begun, "stops", "stop")}, and ${verb(begun, "keeps its", "keep their")} last weights.`);
    if (waiting) lines.push(`${jobs(waiting)} that ${verb(waiting, "waits", "wait")} will never start.`);
    if (others) lines.push(`${jobs(others)} ${verb(others, "has", "have")} ended already and ${verb(others, "stays", "stay")} as ${verb(others, "it is", "they are")}.`);
    return { title: `Cancel ${jobs(mine.length)}?`, lines, button: `Cancel ${jobs(mine.length)}` };
  }
  const weights = mine.filter((job) => job.status !== "failed").length;
  const pinned = mine.filter((job) => job.pinned).length;
  lines.push(`${jobs(mine.length)} ${verb(mine.length, "goes", "go")}, with ${verb(mine.length, "its", "their")} curves, events, predictions${weights ? ", checkpoints and weights" : " and checkpoints"}. This cannot be undone.`);
  if (pinned) lines.push(`${integer(pinned)} of them ${verb(pinned, "is", "are")} pinned, and ${verb(pinned, "goes", "go")} as well.`);
  if (others) lines.push(`${jobs(others)} ${verb(others, "has", "have")} not ended and ${verb(others, "stays", "stay")}: cancel ${verb(others, "it", "them")} first.`);
  return { title: `Delete ${jobs(mine.length)}?`, lines, button: `Delete ${jobs(mine.length)}` };
}

// What was done: `done` jobs, `late` ones that had ended before they could be cancelled, and those that were refused as
// [{job, error}].
export function bulkOutcome(action, { done, late = 0, refused }, nameOf) {
  const words = action === "cancel" ? "cancelled" : "deleted";
  const said = done ? [`${jobs(done)} ${verb(done, "was", "were")} ${words}.`] : [];
  if (late) said.push(`${jobs(late)} had ended before.`);
  return [...said, ...refused.map(({ job, error }) => `${nameOf(job)} was not ${words}: ${error.message}`)];
}
