// job.js: one job.

import { h, replace } from "../dom.js";
import { poll } from "../api.js";
import { setTitle } from "../shell.js";
import { jobName, stateWord } from "../format.js";

export const title = "Job";

export function mount(root, { id }, signal) {
  const heading = h("h1", null, id);
  const state = h("p");
  root.append(heading, state);
  poll(`/v1/jobs/${encodeURIComponent(id)}`, (job) => {
    setTitle(jobName(job));
    replace(heading, jobName(job));
    replace(state, stateWord(job.status));
  }, { signal });
}
