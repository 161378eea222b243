// lifecycle.js: the buttons that decide what becomes of a job or a sweep: edit, pause, resume, cancel, delete.

import { h } from "../../dom.js";
import { sendJson } from "../../api.js";
import { announce, navigate } from "../../shell.js";
import { isEnded, jobName } from "../../format.js";
import { editDialog } from "./edit.js";

// kind: "job" or "sweep"; losing: what goes with it when it is deleted; list: where to go then. onChange() follows each
// change, onFail(error) a refusal. nodes go into a toolbar; show(thing) follows its state; act(button, work) disables a
// button until the work is done.
export function lifecycleButtons({ url, kind, losing, list, signal, onChange, onFail }) {
  const button = (word, kinds = "button") => h("button", { type: "button", class: kinds, hidden: true }, word);
  const edit = button("Edit");
  const pause = button("Pause");
  const resume = button("Resume", "button primary");
  const cancel = button(`Cancel ${kind}`, "button danger");
  const remove = button("Delete", "button danger");
  let thing = null;

  async function act(pressed, work) {
    pressed.disabled = true;
    onFail(null);
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) onFail(error);
    } finally {
      pressed.disabled = false;
    }
  }

  edit.addEventListener("click", async () => {
    const changed = await editDialog(url, thing, signal, kind);
    if (changed) {
      announce("Saved.");
      onChange();
    }
    edit.focus();
  });
  for (const [pressed, action] of [[pause, "pause"], [resume, "resume"], [cancel, "cancel"]])
    pressed.addEventListener("click", () => act(pressed, async () => {
      await sendJson("POST", `${url}/${action}`, undefined, { signal });
      onChange();
    }));
  remove.addEventListener("click", () => act(remove, async () => {
    if (!confirm(`Delete ${jobName(thing)} with its ${losing}?`)) return;
    await sendJson("DELETE", url, undefined, { signal });
    announce("Deleted.");
    navigate(list);
  }));

  return {
    nodes: [edit, pause, resume, cancel, remove],
    act,
    show(fresh) {
      thing = fresh;
      edit.hidden = false;
      pause.hidden = thing.status !== "queued" && thing.status !== "running";
      resume.hidden = thing.status !== "pausing" && thing.status !== "paused";
      cancel.hidden = isEnded(thing);
      remove.hidden = !isEnded(thing);
    },
  };
}
