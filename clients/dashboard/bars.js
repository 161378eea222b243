// bars.js: a few upright bars from zero, each with its label and its value. The aria-label holds the
// same values for screen readers.

import { h, s } from "./dom.js";
import { seconds } from "./format.js";

const width = 300, height = 190, floor = 160, roof = 26;

// entries: [{label, value}] in seconds. `word` is the caption.
export function bars(title, word, entries) {
  const most = Math.max(...entries.map((entry) => entry.value), Number.MIN_VALUE);
  const step = width / entries.length;
  const bar = Math.min(72, step * 0.6);
  const drawing = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "bars",
    "aria-label": `${title}: ${entries.map((entry) => `${entry.label} ${seconds(entry.value)}`).join(", ")}` });
  entries.forEach(({ label, value }, i) => {
    const middle = step * (i + 0.5);
    const size = Math.max(1, (value / most) * (floor - roof));
    const shape = s("rect", { x: middle - bar / 2, y: floor - size, width: bar, height: size, rx: 2 });
    shape.style.fill = `var(--series-${(i % 8) + 1})`;
    const text = (content, y, colour) => {
      const node = s("text", { x: middle, y, "text-anchor": "middle", "font-size": 13 }, content);
      node.style.fill = `var(--${colour})`;
      return node;
    };
    drawing.append(shape, text(seconds(value), floor - size - 7, "text"), text(label, floor + 18, "muted"));
  });
  const ground = s("line", { x1: 0, x2: width, y1: floor, y2: floor });
  ground.style.stroke = "var(--strong-line)";
  drawing.append(ground);
  return h("figure", { class: "chart" }, h("figcaption", null, word), drawing);
}
