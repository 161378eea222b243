// webhooks.js: what was sent to the webhooks of a job or a sweep. Asked for where there are any, again when the job
// changes, and now and then while messages wait.

import { h, keyed, setText } from "../../dom.js";
import { poll } from "../../api.js";
import { dateTime, integer } from "../../format.js";

const pollMs = 5000;

// In words: of a message that waits why it does, and when it is tried again.
const outcomeOf = (message) => [message.response_status === null ? null : `response ${message.response_status}`, message.error,
  message.next_attempt_at ? `again at ${dateTime(message.next_attempt_at)}` : null].filter(Boolean).join("; ");

function row(message) {
  const cells = { status: h("td"), attempts: h("td", { class: "number" }), outcome: h("td", { class: "values" }) };
  const line = h("tr", null, h("th", { scope: "row" }, message.event), h("td", { class: "values" }, message.url), cells.status, cells.attempts, cells.outcome);
  line.cells_ = cells;
  return line;
}

export function webhooksPanel({ url, signal }) {
  const body = h("tbody");
  const heads = [["Event"], ["URL"], ["State"], ["Attempts", true], ["Outcome"]];
  const node = h("section", { class: "card", hidden: true },
    h("h2", null, "Webhooks"),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Messages of webhooks" }, h("table", { class: "compact" },
      h("thead", null, h("tr", null, heads.map(([word, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : null }, word)))), body)));
  let polled = null;
  let status = null;

  function show({ data }) {
    node.hidden = data.length === 0;
    keyed(body, data, (message) => message.id, row, ({ cells_ }, message) => {
      setText(cells_.status, message.status);
      setText(cells_.attempts, integer(message.attempts));
      setText(cells_.outcome, outcomeOf(message));
    });
  }

  return {
    node,
    jobChanged(job) {
      if (!job.spec?.webhooks?.length) return;
      if (polled && job.status !== status) polled.refresh();
      polled ??= poll(`${url}/webhooks`, show, { signal, interval: (page) => (page?.data.some((message) => message.status === "pending") ? pollMs : null) });
      ({ status } = job);
    },
  };
}
