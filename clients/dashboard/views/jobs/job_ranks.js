// job_ranks.js: how a job is cut into ranks, and, once it ended, what each of them did.

import { h, replace } from "../../dom.js";
import { bytes, integer, percent, seconds } from "../../format.js";

const layersOf = ({ layers: [first, last] }) => (first === last ? String(first) : `${first} to ${last}`);

const table = (label, columns, rows) => h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "compact" },
  h("thead", null, h("tr", null, columns.map((word) => h("th", { scope: "col", class: "number" }, word)))),
  h("tbody", null, rows)));

const cells = (texts) => texts.map((text) => h("td", { class: "number" }, text));

const count = (n, one, many = `${one}s`) => `${integer(n)} ${n === 1 ? one : many}`;

export function ranksWords({ data, model, micro_batches: pieces }) {
  const words = [count(data, "replica"), `of ${count(model, "stage")}`];
  if (model > 1) words.push(`in ${count(pieces, "micro-batch", "micro-batches")}`);
  return words.join(" ");
}

// What the ranks waited, beside the least that the plan allows; null where nothing is known.
export function waitWords(parallel, ranks) {
  const least = percent(parallel.bubble);
  const why = parallel.model > 1 ? `a pipeline of these stages and micro-batches leaves ${least} at best, its bubble` : "replicas of like speed would not wait";
  if (!ranks) return parallel.model > 1 ? `Each stage waits ${least} of the time at best: the bubble of the pipeline.` : null;
  const mean = ranks.reduce((sum, { idle_share }) => sum + idle_share, 0) / ranks.length;
  return `The ranks waited ${percent(mean)} of the time for each other, or for a core; ${why}.`;
}

function stagesTable({ stages }) {
  return table("Stages", ["Stage", "Layers", "Parameters", "Share of the cost"],
    stages.map((stage, i) => h("tr", null, cells([integer(i), layersOf(stage), integer(stage.parameters), percent(stage.cost_share)]))));
}

function ranksTable(parallel, ranks) {
  return table("Ranks", ["Rank", "Replica", "Stage", "Node", "Layers", "Memory", "Computing", "Communicating", "Waiting"],
    ranks.map((rank) => h("tr", { "data-rank": rank.rank }, cells([
      integer(rank.rank), integer(rank.data), integer(rank.model), integer(rank.node), parallel ? layersOf(parallel.stages[rank.model]) : "–", bytes(rank.bytes),
      seconds(rank.compute_microseconds / 1e6), seconds(rank.communication_microseconds / 1e6), percent(rank.idle_share)]))));
}

export function ranksPanel() {
  const node = h("section", { class: "card", hidden: true, "aria-labelledby": "ranks-title" });
  let shown = "";
  return {
    node,
    jobChanged({ parallel, ranks }) {
      const mark = JSON.stringify([parallel, ranks]);
      node.hidden = !parallel && !ranks;
      if (node.hidden || mark === shown) return;
      shown = mark;
      replace(node, h("h2", { id: "ranks-title" }, "Ranks"),
        parallel && h("p", null, `${ranksWords(parallel)}. `, parallel.note),
        parallel?.model > 1 && stagesTable(parallel),
        ranks && [h("h3", null, "Each rank, a step"), ranksTable(parallel, ranks)],
        parallel && h("p", { class: "muted" }, waitWords(parallel, ranks)));
    },
  };
}
