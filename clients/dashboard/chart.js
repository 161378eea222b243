// chart.js: one wrapper around uPlot, for curves (lines over epochs, seconds, parameters) and clouds of
// points. It adds colours of the theme, log scales, smoothing, zoom by keyboard, and a sentence and a
// table for screen readers. /assets/uplot.js exports uPlot
// as its default; /assets/uplot.css comes with it.

import uPlot from "./uplot.js";
import { h, replace, setText } from "./dom.js";
import { isPlain, number, tickTexts } from "./format.js";

const tableRows = 50;
const seriesColours = 8;
let charts = 0; // count, for ids
const dashes = [null, [8, 4], [2, 3], [10, 3, 2, 3]];

function styles() {
  if (document.querySelector('link[href="assets/uplot.css"]')) return;
  document.head.append(h("link", { rel: "stylesheet", href: "assets/uplot.css" }));
}

// A curve in a sentence: {label, x, y} -> "Training loss: 1000 points, …".
function sentence({ label, x, y }) {
  let points = 0, first = -1, last = -1, least = -1, most = -1;
  for (let i = 0; i < y.length; i++) {
    if (!Number.isFinite(y[i])) continue;
    points++;
    if (first < 0) first = i;
    last = i;
    if (least < 0 || y[i] < y[least]) least = i;
    if (most < 0 || y[i] > y[most]) most = i;
  }
  if (!points) return `${label}: nothing yet.`;
  return `${label}: ${points} ${points === 1 ? "point" : "points"}, from ${number(y[first])} at ${number(x[first], 6)} to ${number(y[last])} at ${number(x[last], 6)}, ` +
    `least ${number(y[least])}, greatest ${number(y[most])}.`;
}

// An exponential moving average that starts unbiased and steps over gaps; 0 gives y itself.
export function smooth(y, weight) {
  if (!weight) return y;
  const out = new Array(y.length);
  let mean = 0, mass = 0;
  for (let i = 0; i < y.length; i++) {
    if (!Number.isFinite(y[i])) {
      out[i] = null;
      continue;
    }
    mean = weight * mean + (1 - weight) * y[i];
    mass = weight * mass + (1 - weight);
    out[i] = mean / mass;
  }
  return out;
}

// Sorted copies for uPlot: x ascends, and a value that is not finite is a gap.
function table({ x, y }) {
  let ascending = true;
  for (let i = 1; i < x.length && ascending; i++) ascending = x[i] >= x[i - 1];
  const clean = (v) => (Number.isFinite(v) ? v : null);
  if (ascending) return [x, y.map(clean)];
  const order = [...x.keys()].sort((a, b) => x[a] - x[b]);
  return [order.map((i) => x[i]), order.map((i) => clean(y[i]))];
}

// The steps between the ticks of a count: 1, 2, 5, 10, …
const wholeSteps = Array.from({ length: 30 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));

// The ticks of a log scale. uPlot's own loop does not end where a scale begins at 9.5 times a power of ten
// or above.
function logSplits(_, axis, least, most) {
  const splits = [];
  for (let power = Math.floor(Math.log10(least)); splits.length === 0 || splits.at(-1) <= most; power++)
    for (let digit = 1; digit < 10; digit++) splits.push(Number(`${digit}e${power}`));
  const seen = splits.filter((v) => v >= least && v <= most);
  return seen.length ? seen : [least];
}

// Which ticks of a log scale have a label: powers of ten, and where few of them fit 2 and 5 times those.
function logFilter(plot, splits, index) {
  const { min, max } = plot.scales[plot.axes[index].scale];
  const isShort = max / min < 300 && (index > 0 || plot.width > 600);
  const isLabelled = (v) => (isShort ? /^[125]e/ : /^1e/).test(v.toExponential());
  return splits.some(isLabelled) ? splits.map((v) => (isLabelled(v) ? v : null)) : splits;
}

// Whether ticks fit between two numbers: a step that rounds to nothing has no end.
const apart = (least, most) => most - least > 1e-9 * Math.max(Math.abs(least), Math.abs(most));

// A log scale shows values above 0 only.
const positive = (column, on) => (on ? column.map((v) => (v > 0 ? v : null)) : column);

// Options: title (of the picture, for screen readers too), x and y {label, log, format, whole}, height in px,
// points (a cloud: no lines), air (room on both sides), signal (destroys), onZoom(min, max) or onZoom(null) when it is reset.
export function createChart(root, { title, x = {}, y = {}, height = 300, points = false, air = points, signal, onZoom } = {}) {
  styles();
  const summaryId = `chart-${++charts}`;
  const plotRoot = h("div", { class: "plot", tabindex: "0", role: "img", "aria-label": title, "aria-describedby": summaryId });
  const summary = h("p", { class: "hidden", id: summaryId });
  const legend = h("ul", { class: "legend" });
  const details = h("details", { class: "plot-table" }, h("summary", null, "As a table"));
  const figure = h("figure", { class: "chart" }, legend, plotRoot, summary, details);
  root.append(figure);

  const log = { x: !!x.log, y: !!y.log };
  let curves = [];
  let marks = [];
  let smoothing = 0;
  let plot = null;
  let shape = "";
  let zoomed = null;
  let lastRedrawMs = 0;
  let readout = [];

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (i) => css(`--series-${(i % seriesColours) + 1}`);

  // One table for uPlot: x, then each curve (raw and smooth, where smoothing is on).
  function data() {
    const tables = curves.map((curve) => {
      const [xs, ys] = table(curve);
      const columns = [positive(ys, log.y)];
      if (smoothing && !curve.points && !points) columns.push(positive(smooth(ys, smoothing), log.y));
      return [xs, ...columns];
    });
    if (!tables.length) return [[]];
    const shared = tables.every((t) => t[0] === tables[0][0] || (t[0].length === tables[0][0].length && t[0].every((v, i) => v === tables[0][0][i])));
    const joined = shared ? [tables[0][0], ...tables.flatMap((t) => t.slice(1))] : uPlot.join(tables);
    if (!log.x) return joined;
    const keep = [...joined[0].keys()].filter((i) => joined[0][i] > 0);
    return joined.map((column) => keep.map((i) => column[i]));
  }

  function seriesOf(curve, i) {
    const stroke = curve.colour ?? colour(curve.index ?? i);
    const dots = points || curve.points;
    const base = {
      label: curve.label,
      stroke,
      width: curve.faint ? 1 : 1.75,
      dash: curve.dash ?? dashes[Math.floor((curve.index ?? i) / seriesColours) % dashes.length] ?? undefined,
      spanGaps: true,
      alpha: curve.faint ? 0.35 : 1,
      points: { ...(dots ? { show: true } : {}), size: dots ? 5 : 4, stroke, fill: stroke },
      ...(dots && !curve.line ? { paths: () => null } : curve.steps ? { paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } } : {}),
    };
    if (!smoothing || dots) return [base];
    return [{ ...base, alpha: 0.28, width: 1 }, { ...base, label: `${curve.label}, smoothed` }];
  }

  function axis(side, which) {
    const { label, whole, format = number } = which === "x" ? x : y;
    return {
      scale: which,
      side,
      label,
      labelSize: 22,
      labelFont: `12px ${css("--font")}`,
      font: `12px ${css("--font")}`,
      stroke: css("--muted"),
      grid: { stroke: css("--grid"), width: 1 },
      ticks: { stroke: css("--grid"), width: 1, size: 4 },
      gap: 4,
      ...(whole ? { incrs: wholeSteps } : {}),
      ...(log[which] ? { splits: logSplits, filter: logFilter } : {}),
      size: which === "y" ? (_, texts) => Math.max(62, 15 + 7 * Math.max(0, ...(texts ?? []).map(({ length }) => length))) : 38,
      values: (_, splits) => (isPlain(format) ? tickTexts(splits, log[which]) : splits.map((v) => (v === null || v === undefined ? "" : format(v)))),
    };
  }

  function options() {
    return {
      width: Math.max(200, plotRoot.clientWidth),
      height,
      series: [{}, ...curves.flatMap(seriesOf)],
      axes: [axis(2, "x"), axis(3, "y")],
      scales: {
        x: { time: false, distr: log.x ? 3 : 1, ...(air ? { range: rangeX } : {}), ...(zoomed ? { min: zoomed[0], max: zoomed[1], auto: false } : {}) },
        y: { distr: log.y ? 3 : 1, range: rangeY },
      },
      legend: { show: false },
      cursor: { drag: { x: true, y: false, dist: 6 }, points: { size: 6 }, focus: { prox: 24 } },
      hooks: {
        drawClear: [drawIntervals],
        drawAxes: [drawMarks],
        setCursor: [showValues],
        setSelect: [
          (u) => {
            if (u.select.width > 6) zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          },
        ],
      },
    };
  }

  // Where an upright line may lie is shaded, below the grid.
  function drawIntervals({ ctx, bbox, valToPos }) {
    const at = (v) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, valToPos(v, "x", true)));
    ctx.fillStyle = css("--accent-soft");
    for (const { interval } of marks) if (interval) ctx.fillRect(at(interval[0]), bbox.top, Math.max(1, at(interval[1]) - at(interval[0])), bbox.height);
  }

  // Upright lines, each with its words, below the curves.
  function drawMarks({ ctx, bbox, valToPos }) {
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--text");
    ctx.lineWidth = ratio;
    ctx.setLineDash([4 * ratio, 3 * ratio]);
    ctx.font = `${12 * ratio}px ${css("--font")}`;
    marks.forEach(({ x: middle, word }, i) => {
      const at = valToPos(middle, "x", true);
      const isLeft = at < bbox.left + bbox.width / 2;
      if (!(at >= bbox.left && at <= bbox.left + bbox.width)) return;
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
      ctx.textAlign = isLeft ? "left" : "right";
      ctx.fillText(word, at + (isLeft ? 6 : -6) * ratio, bbox.top + 14 * (i + 1) * ratio);
    });
    ctx.restore();
  }

  // A cloud has air on both sides: uPlot leaves out all but one of the points at an end of the scale.
  function rangeX(_, least, most) {
    if (zoomed || !Number.isFinite(least) || !Number.isFinite(most)) return [least ?? 0, most ?? 1];
    if (log.x) {
      const factor = apart(least, most) ? (most / least) ** 0.04 : 2;
      return [least / factor, most * factor];
    }
    const air = apart(least, most) ? (most - least) * 0.04 : Math.abs(least) * 0.1 || 1;
    return [least - air, most + air];
  }

  // A log scale is fitted to the data (uPlot would widen it to whole decades); a linear one has some air.
  function rangeY(_, least, most) {
    if (least === null || most === null || !Number.isFinite(least) || !Number.isFinite(most)) return log.y ? [0.1, 1] : [0, 1];
    if (log.y) return least === most ? [least / 2, most * 2] : [least / 1.15, most * 1.15];
    const air = apart(least, most) ? (most - least) * 0.05 : Math.abs(least) * 0.1 || 1;
    return [least >= 0 && least - air < 0 ? 0 : least - air, most + air];
  }

  function zoom(min, max) {
    if (!apart(min, max)) return;
    zoomed = [min, max];
    plot.setScale("x", { min, max });
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    onZoom?.(min, max);
  }

  function resetZoom() {
    if (!zoomed) return;
    zoomed = null;
    build();
    onZoom?.(null);
  }

  // + and - about the middle, arrows sideways, 0 or Escape back to all of it.
  function key(event) {
    if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "0" || event.key === "Escape") return resetZoom();
    let { min, max } = plot.scales.x;
    if (log.x) [min, max] = [Math.log(min), Math.log(max)];
    const step = { "+": [0.2, -0.2], "=": [0.2, -0.2], "-": [-0.25, 0.25], ArrowLeft: [-0.1, -0.1], ArrowRight: [0.1, 0.1] }[event.key];
    if (!step || !Number.isFinite(min)) return;
    event.preventDefault();
    let to = [min + step[0] * (max - min), max + step[1] * (max - min)];
    if (log.x) to = to.map(Math.exp);
    zoom(...to);
  }

  // The legend shows each curve's value under the cursor.
  function showValues(u) {
    const at = u.cursor.idx;
    readout.forEach(({ node, column }) => {
      let i = at;
      const values = u.data[column] ?? [];
      while (i !== null && i !== undefined && i > 0 && (values[i] === null || values[i] === undefined)) i--;
      const v = i === null || i === undefined ? null : values[i];
      setText(node, v === null || v === undefined ? "" : `${(y.format ?? number)(v)} at ${(x.format ?? ((n) => number(n, 7)))(u.data[0][i])}`);
    });
  }

  function words() {
    setText(summary, curves.map(sentence).join(" "));
    if (details.open) fillTable();
  }

  function drawLegend() {
    readout = [];
    let column = 1;
    replace(
      legend,
      curves.map((curve, i) => {
        const each = seriesOf(curve, i);
        column += each.length;
        const swatch = h("span", { class: points || (curve.points && !curve.line) ? "swatch dot" : "swatch", "aria-hidden": "true" });
        swatch.style.borderColor = each.at(-1).stroke;
        if (each.at(-1).dash) swatch.style.borderTopStyle = "dashed";
        const node = h("span", { class: "legend-value" });
        readout.push({ node, column: column - 1 });
        return !curve.quiet && h("li", null, swatch, curve.label, node);
      }),
    );
  }

  // At most tableRows rows, evenly taken.
  function fillTable() {
    const rows = [];
    for (const curve of curves) {
      const held = [...curve.x.keys()].filter((i) => curve.y[i] !== null);
      const step = Math.max(1, Math.ceil((held.length * curves.length) / tableRows));
      for (let k = 0, i; (i = held[k]) !== undefined; k += step) rows.push([curve.label, number(curve.x[i], 7), number(curve.y[i], 6)]);
    }
    const head = ["Curve", x.label ?? "x", y.label ?? "y"];
    replace(
      details,
      h("summary", null, "As a table"),
      h("div", { class: "table", tabindex: "0", role: "region", "aria-label": `${title}, as a table` },
        h("table", null,
          h("thead", null, h("tr", null, head.map((word, i) => h("th", { scope: "col", class: i ? "number" : null }, word)))),
          h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, i) => h("td", { class: i ? "number" : null }, cell))))))),
    );
  }

  function build() {
    plot?.destroy();
    const began = performance.now();
    plot = new uPlot(options(), data(), plotRoot);
    plot.over.addEventListener("dblclick", resetZoom);
    lastRedrawMs = performance.now() - began;
    shape = outline();
    drawLegend();
  }

  const outline = () => JSON.stringify([curves.map((c) => [c.label, c.dash, c.points, c.steps, c.faint, c.colour, c.index]), smoothing > 0, log]);

  function draw() {
    if (!plotRoot.clientWidth) return; // hidden: the observer draws it once it is visible
    if (!plot || shape !== outline()) build();
    else {
      const began = performance.now();
      plot.setData(data(), !zoomed);
      if (zoomed) plot.setScale("x", { min: zoomed[0], max: zoomed[1] });
      lastRedrawMs = performance.now() - began;
    }
    words();
  }

  const observer = new ResizeObserver(() => {
    if (!plot) draw();
    else if (Math.abs(plot.width - plotRoot.clientWidth) >= 1 && plotRoot.clientWidth) plot.setSize({ width: plotRoot.clientWidth, height });
  });
  observer.observe(plotRoot);
  plotRoot.addEventListener("keydown", key);
  details.addEventListener("toggle", () => details.open && fillTable());
  const rebuild = () => plot && build();
  addEventListener("epochd-theme", rebuild);

  function destroy() {
    observer.disconnect();
    removeEventListener("epochd-theme", rebuild);
    plot?.destroy();
    plot = null;
    figure.remove();
  }
  signal?.addEventListener("abort", destroy, { once: true });

  return {
    // curves: [{label, x, y, dash, colour, index, points, line, steps, faint, quiet}]; y may hold null and NaN. index
    // chooses the colour (and the dash beyond eight); steps holds each value until the next; faint draws thin and
    // pale; quiet has no place in the legend. upright: [{x, interval, word}] are marked.
    setData(next, upright = []) {
      curves = next;
      marks = upright;
      draw();
    },
    setLog(which, on) {
      if (log[which] === on) return;
      log[which] = on;
      draw();
    },
    setSmoothing(weight) {
      smoothing = Math.min(0.999, Math.max(0, weight));
      draw();
    },
    resetZoom,
    destroy,
    get zoomed() {
      return zoomed;
    },
    get redrawMs() {
      return lastRedrawMs;
    },
  };
}
