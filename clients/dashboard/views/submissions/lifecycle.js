// lifecycle.js: the buttons that decide what becomes of a job or a sweep: edit, pause, resume, cancel, delete.

import { h } from "../../dom.js";
import { sendJson } from "../../api.js";
import { confirmed } from "../../dialog.js";
import { announce, navigate } from "../../shell.js";
import { duration, isEnded, jobName } from "../../format.js";
import { editDialog } from "./edit.js";

const workAskedOf = 10; // seconds of work that no click throws away

// Seconds since it began; 0: it waits.
const begunFor = (thing) => (thing.started_at ? (Date.now() - Date.parse(thing.started_at)) / 1000 : 0);

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
  // What has run for long is not cancelled by a slip.
  const cancellation = () => ({
    title: `Cancel ${jobName(thing)}?`,
    lines: [`It began ${duration(begunFor(thing))} ago. A cancelled ${kind} does not go on; what it has by now stays.`, ...(pause.hidden ? [] : ["“Pause” stops it too, and it can go on later."])],
    button: `Cancel the ${kind}`,
  });

  for (const [pressed, action] of [[pause, "pause"], [resume, "resume"], [cancel, "cancel"]])
    pressed.addEventListener("click", async () => {
      if (pressed === cancel && begunFor(thing) > workAskedOf && !(await confirmed(cancellation(), signal))) return;
      act(pressed, async () => {
        await sendJson("POST", `${url}/${action}`, undefined, { signal });
        onChange();
      });
    });
  remove.addEventListener("click", async () => {
    if (!(await confirmed({ title: `Delete ${jobName(thing)}?`, lines: [`The ${kind} goes, with its ${losing}. This cannot be undone.`], button: `Delete the ${kind}` }, signal))) return;
    act(remove, async () => {
      await sendJson("DELETE", url, undefined, { signal });
      announce("Deleted.");
      navigate(list);
    });
  });

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
