// auto.js: jobs whose model the daemon chooses, with what it chose, and sweeps about that choice.

import { sendJson } from "./api.js";
import { isSweep } from "./space.js";

export const tunedTrials = 50; // unless the user says how many

// Without what the daemon filled in: nulls, hashes and empty names.
function bare(value) {
  if (Array.isArray(value)) return value.map(bare);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).filter(([name, item]) => item !== null && name !== "sha256" && !(name === "name" && item === "")).map(([name, item]) => [name, bare(item)]));
}

// The settings of a job or a sweep, once more: with the hash of its rows, so that the daemon warns of others (submitPath).
export function onceMore(spec) {
  const { notes: _, ...next } = bare(spec), { sha256 } = (spec.job ?? spec).data ?? {};
  if (sha256) (next.job ?? next).data.sha256 = sha256;
  return next;
}

// Where a job or a sweep is sent to, with these words of a query.
export function submitPath(spec, ...query) {
  if ((spec.job ?? spec).data?.sha256) query.push("replaced=warn");
  return (isSweep(spec) ? "/v1/sweeps" : "/v1/jobs") + (query.length > 0 ? `?${query.join("&")}` : "");
}

// The job with the network and all else that is chosen, without the defaults of other fields: a sweep's job is shown so.
export async function filledIn(job, { signal } = {}) {
  const { spec } = await sendJson("POST", "/v1/sweeps?validate=only", { space: { "/seed": { values: [1] } }, job }, { signal });
  return bare(spec.job);
}

// The sweep of the button "Tune", of what was chosen.
export const tuned = ({ name, ...job }, trials) => ({ name, search: "tpe", max_trials: trials, space: "auto", job });
