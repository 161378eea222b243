// jobs.js: the list of jobs.

import { h, keyed } from "../dom.js";
import { poll } from "../api.js";
import { jobName, stateWord } from "../format.js";

export const title = "Jobs";

export function mount(root, params, signal) {
  const list = h("ul");
  root.append(h("h1", null, "Jobs"), list);
  poll("/v1/jobs?view=summary", ({ data }) => {
    keyed(list, data, (job) => job.id, () => h("li"), (item, job) => {
      item.replaceChildren(h("a", { href: `#/jobs/${job.id}` }, jobName(job)), " ", stateWord(job.status));
    });
  }, { signal });
}
