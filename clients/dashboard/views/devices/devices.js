// devices.js: the devices, and the queue.

import { poll, sendJson } from "../../api.js";
import { h, keyed, replace, setText } from "../../dom.js";
import { bytes, integer, listOf, startWords } from "../../format.js";
import { announce } from "../../shell.js";

export const title = "Devices";

const stateWords = { starting: "Starting", idle: "Idle", busy: "Training", restarting: "Restarting", absent: "No worker", lost: "Lost" };
const leastPriority = -100, mostPriority = 100; // the daemon's limits

const heads = (words) => h("thead", null, h("tr", null, words.map(([word, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : null }, word))));
const jobLink = (id, name) => h("a", { href: `#/${listOf(id)}/${encodeURIComponent(id)}` }, name || `…${id.slice(-8)}`);

export function mount(root, _, signal) {
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const say = (error) => {
    if (signal.aborted || error.status === 0) return;
    setText(failure, error.message);
    failure.hidden = false;
  };
  const sections = [devices, queue].map((section) => section(say, failure, signal));
  root.append(h("div", { class: "heading" }, h("h1", null, "Devices")), failure, ...sections);
}

// What a partition of Slurm has, and what it allows.
function partitionWords({ up, nodes, nodes_idle, nodes_unavailable, gpus, gpus_idle, cores, cores_idle, max_minutes }) {
  return [
    up ? "" : "accepts no jobs",
    `${integer(nodes)} ${nodes === 1 ? "node" : "nodes"}, ${integer(nodes_idle)} idle`,
    nodes_unavailable ? `${integer(nodes_unavailable)} unavailable` : "",
    gpus ? `${integer(gpus_idle)} of ${integer(gpus)} GPUs idle` : `${integer(cores_idle)} of ${integer(cores)} cores idle`,
    max_minutes ? `at most ${integer(max_minutes)} min` : "",
  ];
}

function devices(say, _, signal) {
  const body = h("tbody");
  const table = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Devices" }, h("table", { class: "stack" },
    heads([["Device"], ["State"], ["Jobs"], ["Memory in use", true], ["Memory", true], ["Threads", true], ["Restarts", true]]), body));
  let last = new Map();

  poll("/v1/devices", ({ data }) => {
    for (const device of data)
      if (last.has(device.id) && last.get(device.id) !== device.state && ["lost", "restarting"].includes(device.state))
        announce(`Device ${device.id}: ${stateWords[device.state]}`);
    last = new Map(data.map((device) => [device.id, device.state]));
    keyed(body, data, (device) => device.id, () => h("tr"), (row, device) => {
      const text = JSON.stringify(device);
      if (row.text_ === text) return;
      row.text_ = text;
      const used = device.memory_bytes - device.memory_free_bytes;
      replace(row,
        h("td", { class: "wide" }, h("strong", null, device.id), h("div", { class: "muted small" }, (device.partition ? partitionWords(device.partition) : [device.name, device.instruction_set]).filter(Boolean).join(" · "))),
        h("td", { "data-label": "State" }, h("span", { class: "badge", "data-state": device.state }, stateWords[device.state] ?? device.state)),
        h("td", { "data-label": "Jobs" }, device.jobs.length ? device.jobs.flatMap((id) => [jobLink(id), " "]) : "–"),
        h("td", { "data-label": "Memory in use", class: "number" },
          device.memory_bytes ? [bytes(used), h("progress", { class: "meter", max: device.memory_bytes, value: used, "aria-label": `Memory of ${device.id} in use` })] : "–"),
        h("td", { "data-label": "Memory", class: "number" }, device.memory_bytes ? bytes(device.memory_bytes) : "–"),
        h("td", { "data-label": "Threads", class: "number" }, device.threads ? integer(device.threads) : "–"),
        h("td", { "data-label": "Restarts", class: "number" }, integer(device.restarts)));
    });
  }, { signal, interval: 2000, onError: say });
  return h("section", { class: "card" }, h("h2", null, "Devices"), table);
}

// The running and the queued jobs, in order; the priority of a queued job can be changed here.
function queue(say, failure, signal) {
  const body = h("tbody");
  const words = h("p", { class: "muted" });
  const table = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Queue", hidden: true }, h("table", null,
    heads([["Place"], ["Job"], ["Starts"], ["Priority", true]]), body));

  async function prioritize(job, by) {
    const to = Math.min(mostPriority, Math.max(leastPriority, job.priority + by));
    try {
      failure.hidden = true;
      await sendJson("PATCH", `/v1/${listOf(job.id)}/${encodeURIComponent(job.id)}`, { priority: to }, { signal });
      announce(`${job.name || job.id}: priority ${to}.`);
      polled.refresh();
    } catch (error) {
      say(error);
    }
  }

  const button = (job, word, by, what) => h("button", { type: "button", class: "button quiet", "aria-label": `${what} the priority of ${job.name || job.id}`,
    onclick: () => prioritize(job, by) }, word);

  const polled = poll("/v1/queue", (listed) => {
    setText(words, listed.jobs.length ? `${integer(listed.running)} running, ${integer(listed.queued)} waiting.` : "No running or queued jobs.");
    table.hidden = listed.jobs.length === 0;
    keyed(body, listed.jobs.slice(0, 200), (job) => job.id, () => h("tr"), (row, job) => {
      const text = JSON.stringify(job);
      if (row.text_ === text) return;
      row.text_ = text;
      const waits = job.position !== null;
      replace(row,
        h("td", null, waits ? integer(job.position) : "running"),
        h("td", null, jobLink(job.id, job.name)),
        h("td", null, waits ? startWords(job.start_seconds) : "–"),
        h("td", { class: "number" }, integer(job.priority), waits && [" ", button(job, "+", 10, "Raise"), button(job, "−", -10, "Lower")]));
    });
  }, { signal, interval: (listed) => (listed?.jobs.length ? 1000 : 2000), onError: say });
  return h("section", { class: "card" }, h("h2", null, "Queue"), words, table);
}
