// job_auto.js: what "model": "auto" chose, in the daemon's words, and the baseline that it is held against.

import { leadingMetric } from "../../job_order.js";
import { h, setText } from "../../dom.js";
import { integer, metricNames } from "../../format.js";

// What the test is held against; of a series, as it was known before.
export const baselineOf = ({ metrics }) => metrics?.baseline ?? null;

// "the mean alone: 0", of a metric that the baseline has; null for another one.
export function baselineWords(job, metric) {
  const baseline = baselineOf(job);
  if (!baseline) return null;
  const value = baseline.metric === metric ? baseline.value : metric === "mae" ? baseline.mae : undefined;
  return value !== undefined && Object.hasOwn(metricNames, metric) ? `${baseline.of}: ${metricNames[metric].format(value)}` : null;
}

// ", 1 row ahead": what the metrics of a series are of; of other jobs "".
export const aheadWords = ({ spec }) => (spec?.data?.window ? `, ${rowsOf(spec.data.window.horizon)} ahead` : "");
const rowsOf = (count) => `${integer(count)} ${count === 1 ? "row" : "rows"}`;

// "R² 0.92 (the mean alone: 0)" of the test rows; null where there is nothing to say.
export function scoreWords(job) {
  const [name, score] = leadingMetric(job) ?? [];
  const held = baselineOf(job)?.metric ?? name;
  const shown = job.metrics?.test?.[held] ?? (held === name ? score : null);
  if (name === undefined || shown === null || !Object.hasOwn(metricNames, held)) return null;
  const baseline = baselineWords(job, held);
  return `${metricNames[held].word} ${metricNames[held].format(shown)}${baseline ? ` (${baseline})` : ""}${aheadWords(job)}`;
}

export function autoPanel() {
  const summary = h("p", null);
  const hint = h("p", { class: "muted small" });
  const node = h("section", { class: "card", hidden: true, "aria-labelledby": "auto-title" }, h("h2", { id: "auto-title" }, "Chosen from the data"), summary, hint);
  return {
    node,
    jobChanged({ auto }) {
      node.hidden = !auto?.summary;
      setText(summary, auto?.summary ?? "");
      setText(hint, auto?.hint ?? "");
    },
  };
}
