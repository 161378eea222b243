// parallel.js: parallel coordinates: an upright axis for each parameter and one for the metric, a line across
// them for each trial. One path holds all lines of a colour, so that 2,000 lines are a few nodes.

import { h, replace, s, setText } from "./dom.js";

const height = 320, top = 44, bottom = 16, left = 72, right = 84;
const axisRoom = 104; // pixels between two axes, at least; narrower windows scroll
const bands = 5; // colours of all lines but the best

let charts = 0; // count, for ids

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// Lines that stand out among `count`.
export const bestOf = (count) => Math.min(10, Math.ceil(count / 5));

// The band of a line, 0 the best, by its rank among `count`.
export const bandOf = (rank, count) => Math.min(bands - 1, Math.floor((rank * bands) / Math.max(1, count)));

// A path through the axes; gaps where a share is null.
export function pathOf(shares, x, y) {
  let text = "", pen = false;
  shares.forEach((share, i) => {
    if (share === null) pen = false;
    else {
      text += `${pen ? "L" : "M"}${x(i).toFixed(1)} ${y(share).toFixed(1)}`;
      pen = true;
    }
  });
  return text;
}

// setData({axes: [{name, title, ticks: [{share, text}]}], lines: [[share, …], …], words}): the lines best first, each with
// a share 0 … 1 (or null) an axis; words describe the picture. highlight(shares or null) draws one line on top.
export function parallelChart(root, { title, signal }) {
  const id = `parallel-${++charts}`;
  const summary = h("p", { class: "hidden", id });
  const drawing = s("svg", { role: "img", "aria-label": title, "aria-describedby": id });
  const scroller = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": title }, drawing);
  const swatch = (colour) => {
    const mark = h("span", { class: "swatch", "aria-hidden": "true" });
    mark.style.borderColor = colour;
    return mark;
  };
  const colour = (band) => `color-mix(in srgb, var(--accent) ${Math.round(100 - (90 * band) / (bands - 1))}%, var(--strong-line))`;
  const bestWord = h("span");
  root.append(h("figure", { class: "chart" },
    h("ul", { class: "legend" }, h("li", null, swatch("var(--series-2)"), bestWord), h("li", null, swatch(colour(0)), "Good"), h("li", null, swatch(colour(bands - 1)), "Bad")),
    scroller, summary));
  let data = null;
  let width = 0;
  let marked = s("path", { fill: "none" });

  const x = (i) => left + ((width - left - right) * i) / Math.max(1, data.axes.length - 1);
  const y = (share) => height - bottom - share * (height - bottom - top);

  function line(d, stroke, opacity, thickness) {
    const path = s("path", { d, fill: "none", "stroke-width": thickness, "stroke-linejoin": "round" });
    path.style.stroke = stroke;
    path.style.opacity = opacity;
    return path;
  }

  function word(content, at, line, anchor, ink, hint) {
    const node = s("text", { x: at, y: line, "text-anchor": anchor, "font-size": 12 }, content, hint && s("title", null, hint));
    node.style.fill = `var(--${ink})`;
    return node;
  }

  function axis({ name, title: hint, ticks }, i) {
    const rule = s("line", { x1: x(i), x2: x(i), y1: top, y2: height - bottom });
    rule.style.stroke = "var(--strong-line)";
    const room = data.axes.length > 1 ? x(1) - x(0) : width;
    const last = i === data.axes.length - 1;
    return [rule, word(cut(name, Math.floor(room / 7.5)), x(i), 18, "middle", "text", hint),
      ticks.map(({ share, text }) => {
        const node = word(cut(text, 12), x(i) + (last ? 8 : -8), y(share) + 4, last ? "start" : "end", "text");
        node.setAttribute("class", "halo"); // lines pass behind the words
        return node;
      })];
  }

  function draw() {
    if (!data || !root.clientWidth) return;
    width = Math.max(root.clientWidth, left + right + axisRoom * (data.axes.length - 1));
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("width", width);
    drawing.setAttribute("height", height);
    const paths = Array.from({ length: bands }, () => "");
    const bestCount = bestOf(data.lines.length);
    let best = "";
    data.lines.forEach((shares, rank) => {
      if (rank < bestCount) best += pathOf(shares, x, y);
      else paths[bandOf(rank, data.lines.length)] += pathOf(shares, x, y);
    });
    const faint = Math.max(0.15, Math.min(0.7, 60 / Math.sqrt(data.lines.length * 20 + 1)));
    marked = line("", "var(--text)", 1, 2.5);
    replace(drawing, paths.map((d, band) => d && line(d, colour(band), faint, 1)).reverse(), best && line(best, "var(--series-2)", 0.9, 1.75), data.axes.map(axis), marked);
    setText(bestWord, bestCount === 1 ? "The best" : `The best ${bestCount}`);
    setText(summary, data.words);
  }

  const observer = new ResizeObserver(draw);
  observer.observe(root);
  signal?.addEventListener("abort", () => observer.disconnect(), { once: true });

  return {
    setData(next) {
      data = next;
      draw();
    },
    highlight(shares) {
      if (data) marked.setAttribute("d", shares ? pathOf(shares, x, y) : "");
    },
  };
}
