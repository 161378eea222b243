// job_order.js: the columns of the list of jobs by which it can be put in order, and what groups its rows.

import { jobName, metricNames, value } from "./format.js";

// The most important metric of a job's test set: [name, value], or null.
export function leadingMetric(job) {
  const test = job.metrics?.test;
  for (const name of ["accuracy", "r2", "rmse"]) if (test?.[name] !== null && test?.[name] !== undefined) return [name, test[name]];
  return null;
}

export const leadingWords = (job) => {
  const found = leadingMetric(job);
  return found ? `${metricNames[found[0]].word} ${metricNames[found[0]].format(found[1])}` : "–";
};

export const lossOf = (job) => value(job.metrics?.train?.loss ?? job.loss);

// Seconds of training; of a job that runs, since its start.
export function trainedSeconds(job, now = Date.now()) {
  if (typeof job.timing?.train_seconds === "number") return job.timing.train_seconds;
  return job.status === "running" && job.started_at ? Math.max(0, (now - Date.parse(job.started_at)) / 1000) : null;
}

// What a column is put in order by: a number, a text, or null, which goes last.
const keys = {
  State: (job) => job.status,
  Job: (job) => job.name || null,
  Data: (job) => job.dataset ?? null,
  Progress: (job) => job.progress.fraction,
  Loss: lossOf,
  Test: (job) => value(leadingMetric(job)?.[1] ?? null),
  Duration: (job) => trainedSeconds(job),
  Device: (job) => job.device,
  Age: (job) => -Date.parse(job.created_at),
};

export const orders = Object.keys(keys);

// order: a column's word, "-Loss" for the greatest first; anything else leaves the jobs as they are.
export function inOrder(jobs, order) {
  const key = Object.hasOwn(keys, order.replace(/^-/, "")) && keys[order.replace(/^-/, "")];
  if (!key) return jobs;
  const sign = order.startsWith("-") ? -1 : 1;
  const missing = (one) => one === null || one === undefined || Number.isNaN(one);
  const compare = (a, b) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return sign * (typeof a === "string" ? a.localeCompare(b) : a - b || 0);
  };
  return jobs.map((job) => [key(job), job]).sort(([a], [b]) => compare(a, b)).map(([, job]) => job);
}

// What jobs are grouped by: the label of a job's group; null: it is in none of the named ones.
export const groupings = {
  dataset: (job) => job.dataset ?? null,
  name: jobName,
  tag: (job) => job.tags?.[0] ?? null,
};

// [{label, jobs, best}] in the order in which groups come first, those without a label last. best: the job whose leading
// metric is the best, where two or more have the same one.
export function inGroups(jobs, by) {
  const groups = new Map();
  for (const job of jobs) {
    const label = groupings[by](job);
    if (!groups.has(label)) groups.set(label, []);
    groups.get(label).push(job);
  }
  return [...groups].map(([label, mine]) => ({ label, jobs: mine, best: bestOf(mine) })).sort((a, b) => (a.label === null) - (b.label === null));
}

function bestOf(jobs) {
  const judged = jobs.map((job) => [job, leadingMetric(job)]).filter(([, metric]) => metric && Number.isFinite(value(metric[1])));
  const [name] = judged[0]?.[1] ?? [];
  if (judged.length < 2 || judged.some(([, metric]) => metric[0] !== name)) return null;
  const sign = name === "rmse" ? -1 : 1;
  return judged.reduce((best, each) => (sign * value(each[1][1]) > sign * value(best[1][1]) ? each : best))[0];
}
