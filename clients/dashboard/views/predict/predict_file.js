// predict_file.js: a file of rows, or of pictures, comes back as the daemon writes it: with the predictions in further columns.

import { download, send } from "../../api.js";
import { asked } from "../../dialog.js";
import { h, setText } from "../../dom.js";
import { uploadFiles } from "../../drop.js";
import { worded } from "../../options.js";
import { readingOptions } from "../data/reading.js";
import { refusalText } from "../data/upload.js";
import { spreadsheetSwitch } from "../../spreadsheet.js";

const archives = { zip: "application/zip", tar: "application/x-tar" };
const tables = ["csv", "tsv", "txt"];
const headBytes = 65536; // that the names of columns are looked for in

const endingOf = (file) => file.name.split(".").at(-1).toLowerCase();

export const isArchive = (file) => Object.hasOwn(archives, endingOf(file));

// The cells of a file's first line, by the mark that it has most of.
async function headOf(file) {
  const [line] = (await file.slice(0, headBytes).text()).replace(/^\uFEFF/, "").split(/\r?\n/, 1);
  const [mark] = [",", ";", "\t", "|"].sort((a, b) => line.split(b).length - line.split(a).length);
  const cells = [""];
  let isQuoted = false;
  for (const each of line) {
    if (each === '"') isQuoted = !isQuoted;
    else if (each === mark && !isQuoted) cells.push("");
    else cells[cells.length - 1] += each;
  }
  return cells.map((cell) => cell.trim());
}

// What a refusal says, each fault with its place.
export const faultText = ({ message, errors }) => (errors?.length ? errors.map(({ pointer, detail }) => [pointer, detail].filter(Boolean).join(": ")).join("; ") : message);

// ask(): {query, pictures, classes}: parameters of predict, whether the data that were trained on are pictures, and whether
// classes are predicted.
export function fileFields({ url, signal, ask }) {
  const input = h("input", { id: "predict-file", type: "file" });
  const heading = h("h3", null);
  const label = h("label", { for: input.id });
  const reading = readingOptions({ prefix: "predict-file", dialectOnly: true });
  const options = h("details", { class: "more" }, h("summary", null, "Reading options"), reading.node);
  const probabilities = h("input", { type: "checkbox", checked: true });
  const shares = h("label", null, probabilities, " with the probability of each class");
  const spreadsheet = spreadsheetSwitch();
  const go = h("button", { class: "button" }, "Predict the file");
  const outcome = h("p", { class: "upload-said", role: "status" });
  const node = h("form", { id: "predict-rows", hidden: true }, heading,
    h("div", { class: "field" }, label, input), options, h("div", { class: "toolbar upload-go" }, go, shares, spreadsheet.node), outcome);

  function say(text, bad = false) {
    outcome.classList.toggle("bad", bad);
    setText(outcome, text);
  }

  // UTF-8, of which the browser makes a character a byte.
  const headerText = (value) => new TextDecoder().decode(Uint8Array.from(value, (letter) => letter.charCodeAt(0)));

  // The file as it comes back, and what the daemon says of its rows.
  async function predicted(file, { query, pictures }) {
    const given = pictures ? {} : Object.fromEntries(new URLSearchParams(reading.query()));
    const asked = new URLSearchParams({ ...query, ...given, format: "csv", probabilities: probabilities.checked, spreadsheet: spreadsheet.on() });
    const type = pictures ? archives[endingOf(file)] ?? archives.zip : "text/csv";
    const response = await send(`${url}/predict?${asked}`, { method: "POST", body: file, signal, headers: { "Content-Type": type } });
    return { text: await response.blob(), warnings: worded(headerText(response.headers.get("Epochd-Warnings") ?? "")) };
  }

  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [file] = input.files;
    if (!file) return say("Choose a file first.", true);
    go.disabled = true;
    say("Predicting …");
    reading.ask("");
    try {
      const { text, warnings } = await predicted(file, ask());
      const name = `${file.name.replace(/\.[a-z]+$/i, "")}-predicted.csv`;
      download(text, name);
      say(`Predicted: ${name}.${warnings ? ` ${warnings}` : ""}`);
    } catch (error) {
      if (signal.aborted) return;
      say(faultText(error), true);
      if (!ask().pictures) reading.ask(refusalText(error));
    } finally {
      go.disabled = false;
    }
  });

  return {
    node,
    // What was dropped: rows of all inputs without the target are predicted, else the user says what becomes of it; what
    // cannot be rows goes to Data. by: what predicts; inputs: columns' names; target: its name.
    async dropped(files, { by, inputs, target }) {
      const [file] = files, { pictures } = ask();
      if (node.hidden || files.length > 1 || !(pictures ? isArchive(file) : tables.includes(endingOf(file)))) return uploadFiles(files);
      const head = pictures ? null : await headOf(file);
      const missing = head && inputs.find((name) => !head.includes(name));
      const isNew = head && missing === undefined && !head.includes(target);
      const lines = [!head ? "It may hold pictures to predict, or a folder a class to learn from." : missing === undefined ? `It has the columns that ${by} learnt from, and ${target}, which it predicts.` : `It has no column ${missing}, from which ${by} learnt.`];
      const predict = `Predict with ${by}`, upload = "Upload as a dataset";
      const wanted = isNew ? predict : await asked({ title: `What is ${file.name} for?`, lines, words: [predict, upload] }, signal);
      if (wanted === upload) return uploadFiles(files);
      if (wanted !== predict) return;
      input.files = files;
      node.scrollIntoView({ block: "center" });
      node.requestSubmit();
    },
    show() {
      shares.hidden = !ask().classes;
      const { pictures } = ask();
      setText(heading, pictures ? "Many pictures" : "Many rows");
      setText(label, pictures ? "A ZIP or TAR of pictures: the result is a CSV of their names with the predictions" : "A CSV with a header: the result has the predictions in additional columns");
      input.accept = pictures ? ".zip,.tar" : ".csv,.tsv,.txt,text/csv,text/tab-separated-values";
      options.hidden = Boolean(pictures);
      node.hidden = false;
    },
  };
}
