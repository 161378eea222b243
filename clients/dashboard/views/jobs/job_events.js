// job_events.js: follows a job's events and shows the newest of them.

import { h } from "../../dom.js";
import { stream } from "../../api.js";
import { bytes, integer, isEnded, number, stateWord } from "../../format.js";

const shown = 60;
const epochsFollowed = 1000; // about as many epoch lines in all, for a job of any length
const epochsOfEnded = 30;

export function eventWords(event) {
  switch (event.type) {
    case "epoch": {
      const validation = event.validation?.loss;
      return `epoch ${integer(event.epoch)}, loss ${number(event.loss, 5)}${validation === undefined || validation === null ? "" : `, validation ${number(validation, 5)}`}`;
    }
    case "batch":
      return `epoch ${integer(event.epoch)}, batch ${integer(event.batch)} of ${integer(event.batches)}, loss ${number(event.loss, 5)}`;
    case "layers":
      return `layers after epoch ${integer(event.epoch)}`;
    case "started":
      return `started on ${event.device} with ${event.executor}${event.attempt > 1 ? `, attempt ${event.attempt}` : ""}`;
    case "end":
      return `ended: ${stateWord(event.status).toLowerCase()}`; // why stands above
    case "checkpoint":
      return `checkpoint at epoch ${integer(event.epoch)}, step ${integer(event.step)}, ${bytes(event.bytes)}`;
    case "paused":
    case "resumed":
      return `${event.type} at epoch ${integer(event.epoch)} of ${integer(event.epochs)}`;
    case "restarted":
      return `restarted, attempt ${event.attempt}: ${event.message}`;
    case "warning":
      return `warning: ${event.message ?? event.warning ?? event.detail ?? ""}`;
    default:
      return event.type;
  }
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

// Calls onEpoch for each epoch, onWithin for each report within an epoch, onLayers for each of layers (of an ended job too), onBatch at most ten times a second after some, onCheckpoint for each checkpoint,
// onChange when the job's state may have changed, onRestart when epochs begin again. `live` is true while a stream
// is open.
export function followEvents({ url, job, list, signal, onEpoch, onWithin, onLayers, onBatch, onCheckpoint, onChange, onRestart }) {
  const state = { live: false };
  const ended = isEnded(job);
  const every = Math.max(1, Math.ceil(job.progress.epochs / (ended ? epochsOfEnded : epochsFollowed)));
  let seq = 0;
  let pending = [];
  let timer = null;
  let over = false;

  function flush() {
    timer = null;
    if (signal.aborted) return;
    for (const event of pending.slice(-shown)) {
      list.prepend(h("li", { "data-type": event.type }, h("time", { datetime: event.time }, clock.format(new Date(event.time))), " ", h("span", null, eventWords(event))));
    }
    pending = [];
    while (list.childElementCount > shown) list.lastElementChild.remove();
    onBatch();
  }

  function line(event) {
    if (!(event.seq > seq)) return;
    seq = event.seq;
    pending.push(event);
    if (event.type === "epoch") {
      if (!ended) onEpoch(event);
    } else if (event.type === "batch") {
      if (!ended) onWithin(event);
    } else if (event.type === "layers") {
      onLayers(event);
    } else if (event.type === "checkpoint") {
      if (!ended) onCheckpoint();
    } else {
      if (event.type === "end") over = true;
      if (event.type === "restarted") onRestart();
      if (!ended) onChange();
    }
    timer ??= setTimeout(flush, 100);
  }

  async function run() {
    let wait = 1000;
    while (!signal.aborted && !over) {
      const before = seq;
      try {
        state.live = true;
        await stream(`${url}/events?every=${every}`, line, { signal, after: seq, follow: !ended });
      } catch (error) {
        if (signal.aborted) return;
        if (error.status >= 400 && error.status < 500) return;
      } finally {
        state.live = false;
      }
      if (over || ended) return;
      wait = seq > before ? 1000 : Math.min(30000, wait * 2);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  signal.addEventListener("abort", () => clearTimeout(timer));
  run();
  return state;
}
