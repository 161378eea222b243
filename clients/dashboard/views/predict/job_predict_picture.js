// job_predict_picture.js: a picture to predict, dropped on the page or chosen.

import { h } from "../../dom.js";
import { send } from "../../api.js";
import { isArchive } from "./predict_file.js";

const types = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg" };
const mostPixels = 240; // of the picture as it is shown, in each direction

// Its type by its name, where the browser has none; undefined: it is no picture.
const typeOf = (file) => Object.values(types).find((type) => type === file.type) ?? types[file.name.split(".").at(-1).toLowerCase()];

async function draw(canvas, file) {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, mostPixels / Math.max(picture.width, picture.height));
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  canvas.setAttribute("aria-label", file.name);
  canvas.hidden = false;
}

// onFile(file): a picture was chosen. ask(): the daemon's response for it.
export function pictureFields({ url, signal, onFile, onRefused }) {
  const input = h("input", { id: "predict-picture", type: "file", accept: "image/png,image/jpeg" });
  const canvas = h("canvas", { role: "img", hidden: true });
  const said = h("span", { class: "hint" }, "It is resized to the size of the job's pictures.");
  const node = h("div", { class: "predict-picture" },
    h("div", { class: "field" }, h("label", { for: input.id }, "Drop a picture here, or choose one: PNG or JPEG"), input, said), canvas);

  async function chosen() {
    const [file] = input.files;
    if (!file) return;
    if (!typeOf(file)) return onRefused(new Error(`“${file.name}” is neither a PNG nor a JPEG file.`));
    canvas.hidden = true;
    await draw(canvas, file).catch(() => {}); // the daemon says what is wrong with it
    if (!signal.aborted) onFile(file);
  }

  function dropped(event) {
    const files = event.dataTransfer?.files;
    node.classList.remove("dropping");
    if (!files?.length || isArchive(files[0])) return;
    event.preventDefault();
    if (files.length > 1) return onRefused(new Error("Drop one picture at a time."));
    input.files = files;
    chosen();
  }

  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    node.classList.add("dropping");
  }, { signal });
  document.addEventListener("drop", dropped, { signal });
  document.addEventListener("dragleave", (event) => !event.relatedTarget && node.classList.remove("dropping"), { signal });
  input.addEventListener("change", chosen);

  return {
    node,
    async ask() {
      const [file] = input.files;
      if (!file) throw new Error("Choose a picture first.");
      const response = await send(`${url}/predict`, { method: "POST", body: file, signal, headers: { "Content-Type": typeOf(file), Accept: "application/json" } });
      return response.json();
    },
  };
}
