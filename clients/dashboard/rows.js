// rows.js: pictures that are tables: a row each, with a track on which a scale's ticks, bars, whiskers, boxes and
// dots lie. Words are text, so they need no other form for screen readers.

import { h } from "./dom.js";

// A node that lies on a track from one share (0 … 1) to another.
function placed(kind, from, to = from, colour = null) {
  const node = h("span", { class: kind });
  node.style.left = `${100 * Math.min(from, to)}%`;
  if (to !== from) node.style.width = `${100 * Math.abs(to - from)}%`;
  if (colour) node.style.background = `var(--${colour})`;
  return node;
}

const colours = { good: "good", bad: "bad", open: "strong-line" };

// A bar from 1 to the ratio; its whiskers are the interval.
export const barOf = ({ share }, { ratio, interval, verdict }) => [
  placed("row-bar", share(1), share(ratio), colours[verdict]),
  interval && placed("row-whisker", share(interval[0]), share(interval[1])),
];

// Quartiles, from end to end, and each repeat.
export const boxOf = ({ share }, { each, box, ends, level }) => {
  const colour = `series-${(level % 8) + 1}`;
  return [
    placed("row-line", share(ends[0]), share(ends[1])),
    placed("row-box", share(box[0]), share(box[1]), colour),
    each.map((ratio) => placed("row-dot", share(ratio), share(ratio), colour)),
  ];
};

// A table of tracks. scale: ratioScale's. rows: [{word, text, marks: nodes on the track}].
export function rowsTable(caption, scale, rows) {
  const grid = () => scale.ticks.map(({ share }) => placed("row-tick", share));
  const labels = scale.ticks.map(({ share, text }) => {
    const label = placed("row-label", share);
    label.textContent = text;
    return label;
  });
  return h("table", { class: "rows" }, h("caption", { class: "hidden" }, caption),
    h("tbody", null, rows.map(({ word, text, marks }) => h("tr", null,
      h("th", { scope: "row" }, word), h("td", { class: "track", "aria-hidden": "true" }, h("div", null, grid(), placed("row-one", scale.share(1)), marks)), h("td", { class: "number" }, text)))),
    h("tfoot", { "aria-hidden": "true" }, h("tr", null, h("td"), h("td", { class: "track" }, h("div", null, labels)), h("td"))));
}

// Two axes together, as a table whose colours say what the numbers do: {names, rows, columns, cells: [[{text, heat}]]}.
export function heatTable(caption, { names, rows, columns, cells }) {
  const cell = ({ text, heat }) => {
    const node = h("td", { class: "number" }, text);
    if (heat) node.style.background = `color-mix(in srgb, var(--${heat < 0 ? "series-1" : "series-2"}) ${Math.round(45 * Math.abs(heat))}%, var(--surface))`;
    return node;
  };
  return h("table", { class: "confusion heat" }, h("caption", { class: "hidden" }, caption),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, `${names[0]} \\ ${names[1]}`), columns.map((word) => h("th", { scope: "col", class: "number" }, word)))),
    h("tbody", null, rows.map((word, r) => h("tr", null, h("th", { scope: "row" }, word), cells[r].map(cell)))));
}
