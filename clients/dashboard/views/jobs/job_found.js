// job_found.js: what a learning rate search found: the loss over the rates, and the one to train with.

import { h, replace, setText } from "../../dom.js";
import { number, value } from "../../format.js";
import { createChart } from "../../chart.js";

export function foundPanel({ id, signal }) {
  const place = h("div");
  const note = h("p", null);
  const again = h("a", { class: "button primary", hidden: true, href: `#/submit?job=${encodeURIComponent(id)}` }, "Train with it");
  const node = h("section", { class: "card", hidden: true, "aria-labelledby": "found-title" },
    h("div", { class: "toolbar" }, h("h2", { class: "grow", id: "found-title" }, "Learning rate"), again), note, place);
  let drawn = false;

  return {
    node,
    jobChanged({ found }) {
      node.hidden = !found;
      if (!found || drawn) return;
      drawn = true;
      const rate = value(found.proposal);
      again.hidden = rate === null;
      setText(note, rate === null
        ? "The loss does not fall at any rate: no proposal."
        : `Train with ${number(rate, 3)}. The loss falls fastest at ${number(value(found.steepest), 3)} and is least at ${number(value(found.least), 3)}` +
          `${found.exploded ? "; beyond the last rate it explodes" : ""}.`);
      replace(place);
      const chart = createChart(place, { title: "Loss over the learning rate", x: { label: "Learning rate", format: (v) => number(v, 2), log: true }, y: { label: "Loss" }, height: 280, signal });
      const most = 2 * Math.abs(value(found.smoothed[0]) ?? 1); // what has exploded would flatten all else
      const cut = (list) => list.map((each) => (value(each) !== null && value(each) <= most ? value(each) : null));
      chart.setData([
        { label: "Loss of the batch", x: found.lr, y: cut(found.loss), dash: [2, 3] },
        { label: "Smoothed", x: found.lr, y: cut(found.smoothed) },
      ]);
    },
  };
}
