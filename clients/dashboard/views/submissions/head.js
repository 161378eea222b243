// head.js: what the pages of a job and of a sweep have alike: name, state, tags and buttons on top, what failed or is
// warned of, the card of the progress, and the one of the settings.

import { sendJson } from "../../api.js";
import { onceMore, submitPath } from "../../auto.js";
import { h, replace, setText } from "../../dom.js";
import { announce, navigate, setTitle } from "../../shell.js";
import { isEnded, jobName, listOf, stateWord, tagWord } from "../../format.js";
import { prettyJson } from "../../json.js";
import { copyButton } from "../../copy.js";
import { setFacts } from "../../facts.js";
import { worded } from "../../options.js";
import { lifecycleButtons } from "./lifecycle.js";

// kind, losing: as in lifecycleButtons; more: further nodes before the buttons. onChange() follows each change. Appends
// to root; the page's own panels go into content. show(thing) follows its state; fail(error) shows a refusal, null none.
export function submissionHead(root, { id, kind, losing, more = [], signal, onChange }) {
  const list = `#/${kind}s`;
  const url = `/v1/${kind}s/${encodeURIComponent(id)}`;
  const heading = h("h1", null, `${kind === "job" ? "Job" : "Sweep"} …${id.slice(-8)}`);
  const badge = h("span", { class: "badge" });
  const tags = h("span", { class: "tags" });
  const again = h("button", { type: "button", class: "button", title: "Run it again with the same settings", hidden: true }, "Run again");
  const edited = h("a", { class: "button", title: "Open its settings in the form to change them", href: `#/submit?${kind}=${encodeURIComponent(id)}` }, "Edit as new");
  const buttons = lifecycleButtons({ url, kind, losing, list, signal, onChange, onFail: fail });
  const failure = h("p", { class: "notice error", role: "alert", hidden: true });
  const warning = h("p", { class: "notice warning", hidden: true });
  const notes = h("p", { class: "muted notes", hidden: true });
  const content = h("div", { hidden: true });
  let spec = null;
  let before = null; // its state when it was shown last

  root.append(h("div", { class: "heading" }, heading, badge, tags, h("div", { class: "toolbar" }, more, again, edited, buttons.nodes)), notes, failure, warning, content);

  again.addEventListener("click", () => buttons.act(again, async () => {
    const same = onceMore(spec);
    const next = await sendJson("POST", submitPath(same), same, { signal });
    announce("Submitted.");
    navigate(`${list}/${encodeURIComponent(next.id)}`);
  }));

  function fail(error) {
    setText(failure, error?.status === 404 ? `The ${kind} was not found; it may have been deleted.` : error?.message ?? "");
    failure.hidden = !error;
  }

  // A job of a sweep has the sweep's id as a tag.
  const tagLink = (word) => h("a", { class: "tag", title: word, href: listOf(word) === "sweeps" ? `#/sweeps/${encodeURIComponent(word)}` : `${list}?tag=${encodeURIComponent(word)}` }, tagWord(word));

  function show(thing) {
    const { error } = thing;
    ({ spec } = thing);
    content.hidden = false;
    failure.hidden = true;
    setTitle(jobName(thing));
    setText(heading, jobName(thing));
    badge.dataset.state = thing.status;
    setText(badge, stateWord(thing.status));
    replace(tags,
      (thing.tags ?? thing.spec?.tags ?? []).map(tagLink),
      thing.pinned && h("span", { class: "tag", title: "The daemon's retention never deletes it" }, "pinned"),
      thing.visibility === "private" && h("span", { class: "tag", title: "Visible only to its owner and admins" }, "private"));
    if (before && before !== thing.status) announce(`${jobName(thing)}: ${stateWord(thing.status)}.`);
    before = thing.status;
    buttons.show(thing);
    setText(notes, spec.notes ?? "");
    notes.hidden = !spec.notes;
    again.hidden = !isEnded(thing);
    setText(warning, error ? `${error.message}${error.pointer ? ` (${error.pointer})` : ""}` : worded([thing.warning, ...(thing.warnings ?? [])].filter(Boolean).join("\n")));
    warning.className = `notice ${error ? "error" : "warning"}`;
    warning.hidden = !warning.textContent;
  }

  return { url, content, act: buttons.act, fail, show };
}

// A bar, a line of words, and a list of facts as setFacts takes it.
export function progressCard() {
  const meter = h("progress", { class: "meter large", max: "1", value: "0", "aria-label": "Progress" });
  const line = h("p", { class: "progress-line" });
  const facts = h("dl", { class: "facts columns" });
  return {
    node: h("section", { class: "card", "aria-label": "Progress" }, meter, line, facts),
    meter,
    setWords: (words) => setText(line, words.join(" · ")),
    setFacts: (rows) => setFacts(facts, rows),
  };
}

// {node, show(spec)}
export function settingsCard(kind) {
  const settings = h("pre", { tabindex: "0", "aria-label": `The ${kind}'s settings, all defaults filled in` });
  return {
    node: h("section", { class: "card" },
      h("div", { class: "toolbar" }, h("h2", { class: "grow" }, "Settings"), copyButton(() => settings.textContent)), settings),
    show: (spec) => setText(settings, prettyJson(spec, 110)),
  };
}

// How long to wait until it is asked for again, in milliseconds, unless its events say more.
export const pollInterval = (latest, followed = 1000) => (latest && isEnded(latest) ? 15000 : followed);
