// edit.js: the dialog that changes the name, tags, notes and priority of a job or a sweep, pins it, and hides it.

import { shown } from "../../dialog.js";
import { h, setText } from "../../dom.js";
import { sendJson } from "../../api.js";
import { isEnded } from "../../format.js";

// True once the daemon has stored the change, false when the user cancels.
export async function editDialog(url, job, signal, kind = "job") {
  const ended = isEnded(job);
  const before = { name: job.name ?? "", tags: job.tags ?? job.spec?.tags ?? [], notes: job.spec?.notes ?? "", priority: job.priority ?? job.spec?.priority ?? 0, pinned: job.pinned ?? false, private: job.visibility === "private" };
  const name = h("input", { id: "edit-name", maxlength: "128", autocomplete: "off", value: before.name });
  const tags = h("input", { id: "edit-tags", autocomplete: "off", value: before.tags.join(", "), "aria-describedby": "edit-tags-hint" });
  const notes = h("input", { id: "edit-notes", maxlength: "500", autocomplete: "off", value: before.notes });
  const priority = h("input", { id: "edit-priority", type: "number", min: "-100", max: "100", step: "1", value: String(before.priority), disabled: ended, "aria-describedby": "edit-priority-hint" });
  const pinned = h("input", { id: "edit-pinned", type: "checkbox", checked: before.pinned, "aria-describedby": "edit-pinned-hint" });
  const hidden = h("input", { id: "edit-private", type: "checkbox", checked: before.private, "aria-describedby": "edit-private-hint" });
  const refused = h("p", { class: "notice error", role: "alert", hidden: true });
  const save = h("button", { class: "button primary" }, "Save");
  let changed = false;

  const form = h("form", null,
    h("h2", { id: "edit-title" }, `Edit the ${kind}`),
    h("div", { class: "field" }, h("label", { for: "edit-name" }, "Name"), name),
    h("div", { class: "field" }, h("label", { for: "edit-tags" }, "Tags"), tags, h("span", { class: "hint", id: "edit-tags-hint" }, "with commas between")),
    h("div", { class: "field" }, h("label", { for: "edit-notes" }, "Notes"), notes),
    h("div", { class: "field" }, h("label", { for: "edit-priority" }, "Priority"), priority,
      h("span", { class: "hint", id: "edit-priority-hint" }, ended ? `of an ended ${kind} it cannot be changed` : "-100 to 100, higher runs first; above 0 needs the scope admin")),
    h("div", { class: "field" }, h("label", { for: "edit-pinned" }, "Pinned"), pinned,
      h("span", { class: "hint", id: "edit-pinned-hint" }, "the daemon's retention never deletes it")),
    h("div", { class: "field" }, h("label", { for: "edit-private" }, "Private"), hidden,
      h("span", { class: "hint", id: "edit-private-hint" }, "visible only to its owner and admins")),
    refused,
    h("div", { class: "toolbar end" }, h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"), save));
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "edit-title" }, form);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = tags.value.split(",").map((word) => word.trim()).filter(Boolean);
    const patch = {};
    if (name.value !== before.name) patch.name = name.value || null;
    if (words.join("\n") !== before.tags.join("\n")) patch.tags = words;
    if (notes.value !== before.notes) patch.notes = notes.value || null;
    if (!ended && Number(priority.value) !== before.priority) patch.priority = Number(priority.value);
    if (pinned.checked !== before.pinned) patch.pinned = pinned.checked;
    if (hidden.checked !== before.private) patch.visibility = hidden.checked ? "private" : "public";
    if (!Object.keys(patch).length) return dialog.close();
    save.disabled = true;
    try {
      await sendJson("PATCH", url, patch, { signal });
      changed = true;
      dialog.close();
    } catch (error) {
      setText(refused, error.message);
      refused.hidden = false;
    } finally {
      save.disabled = false;
    }
  });
  await shown(dialog, signal);
  return changed;
}
