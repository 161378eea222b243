// A job becomes a model on the page: published, tried, asked by the programs that are shown, decided by a threshold, moved to
// another job, taken back. And a file of rows, of a job and of a model, comes back with its predictions.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { accessibilityFaults, ask, check, drop, peopleCsv, peoplePut, run, squaresPut, trained, xor } from "./page.mjs";

const spec = (more = {}) => ({
  name: "people", data: { dataset: "people", target: "survived", exclude: ["id", "name"], test: 0.2 },
  model: { layers: [{ type: "linear", out_features: 8 }, { type: "relu" }, { type: "linear", out_features: 2 }] }, loss: "cross_entropy", optimizer: { type: "adam", lr: 0.02 }, epochs: 60, batch_size: 32, ...more,
});

const columns = peopleCsv.split("\n");

async function publish({ page, url }, id) {
  await page.goto("/#/models");
  await page.getByText("No models yet.").waitFor();
  await page.goto(`/#/jobs/${id}`);
  await page.getByRole("button", { name: "Publish" }).click();
  const dialog = page.getByRole("dialog", { name: "Publish as a model" });
  check((await dialog.getByLabel("Name").inputValue()) === "people", "the name is not the job's");
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `the dialog: ${JSON.stringify(faults)}`);
  await dialog.getByLabel("A row’s class is decided by").selectOption("a probability");
  await dialog.getByLabel("From this probability on").fill("0.25");
  await dialog.getByRole("button", { name: "Publish" }).click();
  await page.waitForURL(/#\/models\/people$/);
  await page.getByText("a class: yes from a probability of 0.25 on").waitFor();
  const model = await ask(url, "GET", "/v1/models/people");
  check(model.job === id && model.threshold === 0.25 && model.visibility === "public", JSON.stringify(model));
  await page.goto(`/#/jobs/${id}`);
  await page.getByRole("link", { name: "model people" }).waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await dialog.getByText("Model “people” already exists").waitFor();
  const [again] = await Promise.all([page.waitForRequest((request) => request.method() === "PUT"), dialog.getByRole("button", { name: "Replace" }).click()]);
  check(!("threshold" in again.postDataJSON()), again.postData());
  await page.getByText("a class: yes from a probability of 0.25 on").waitFor();
  await page.goto(`/#/jobs/${id}`);
  await page.getByRole("button", { name: "Publish" }).click();
  await dialog.getByLabel("Name").fill("others");
  await dialog.getByText("Model “people” already exists").waitFor({ state: "hidden" });
  await dialog.getByRole("button", { name: "Cancel" }).click();
  console.log("ok: published from a job's page, with a threshold");
}

// What the form says, the programs print.
async function tryIt({ page, url }) {
  await page.goto("/#/models/people");
  const form = page.locator("#predict");
  await form.getByLabel("sex").selectOption("female");
  await form.getByLabel("age").fill("30");
  check((await form.getByLabel("joined").getAttribute("type")) === "date", "a date has no field of dates");
  const [asked] = await Promise.all([page.waitForRequest(/\/v2\/models\/people\/infer$/), form.getByRole("button", { name: "Predict" }).click()]);
  const inputs = Object.fromEntries(asked.postDataJSON().inputs.map(({ name, datatype, data }) => [name, `${datatype} ${data[0]}`]));
  check(inputs.sex === "BYTES female" && inputs.age === "FP64 30" && !("survived" in inputs), JSON.stringify(inputs));
  await form.locator(".predict-answer progress").nth(1).waitFor();
  const word = await form.locator(".predict-answer strong").textContent();
  const program = await page.getByLabel("The same with Python").textContent();
  const said = execFileSync("python3", ["-c", program], { encoding: "utf8" });
  check(said.includes(`class_name ['${word}']`), `Python says ${said}, the page ${word}`);
  const curled = JSON.parse(execFileSync("sh", ["-c", (await page.getByLabel("The same with curl").textContent()).replace("curl ", "curl -sSf ")], { encoding: "utf8" }));
  check(curled.outputs.find(({ name }) => name === "class_name").data[0] === word, JSON.stringify(curled));
  await form.getByLabel("age").fill("young");
  await form.getByRole("button", { name: "Predict" }).click();
  await form.getByRole("alert").filter({ hasText: "young" }).waitFor();
  check((await page.getByLabel("The same with curl").textContent()).includes('"data": ["young"]'), "the programs do not follow the form");
  check((await fetch(`${url}/v1/models/people`)).ok, "gone");
  console.log("ok: tried by its columns, and asked the same by curl and Python");
}

async function decideAndMove({ page, url }, id, other) {
  await page.goto("/#/models/people");
  await page.getByRole("button", { name: "Threshold" }).click();
  const dialog = page.getByRole("dialog", { name: "How people decides" });
  await dialog.getByLabel("A row’s class is decided by").selectOption("the lowest cost");
  await dialog.getByLabel("A wrong no costs").fill("3");
  const [answer] = await Promise.all([page.waitForResponse((response) => response.request().method() === "PUT"), dialog.getByRole("button", { name: "Save" }).click()]);
  const sent = answer.request();
  check(sent.postData() === JSON.stringify({ job: id, threshold: "fp:1,fn:3" }), sent.postData());
  await page.getByText("a class: yes from a probability of 0.25 on").waitFor({ state: "detached" });
  const versions = page.getByRole("region", { name: "Versions" });
  await versions.getByText("served").waitFor();
  const { threshold } = await ask(url, "GET", "/v1/models/people");
  check(typeof threshold === "number", `the threshold is ${threshold}`);
  check((await versions.locator("tbody tr").count()) === 2, "a job of another target is a version");
  await versions.getByRole("button", { name: new RegExp(other.slice(-8)) }).click();
  await page.waitForFunction((part) => document.querySelector(".versions strong")?.closest("tr").textContent.includes(part), other.slice(-8));
  const moved = await ask(url, "GET", "/v1/models/people");
  check(moved.job === other && moved.threshold === threshold, JSON.stringify(moved));
  const sexed = (await ask(url, "GET", "/v1/jobs?limit=100")).data.find(({ spec: { data } }) => data.target === "sex").id;
  await page.goto(`/#/jobs/${sexed}`);
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("dialog", { name: "Publish as a model" }).getByRole("button", { name: "Replace" }).click();
  const told = page.getByRole("dialog", { name: "people is published" });
  await told.getByText("people predicted \"survived\" before, and predicts \"sex\" from here on").waitFor();
  await told.getByRole("button", { name: "Close" }).click();
  await page.waitForURL(/#\/models\/people$/);
  await ask(url, "PUT", "/v1/models/people", { job: other, threshold });
  await page.reload();
  await page.getByLabel("Private").check();
  await page.waitForFunction(() => !document.querySelector(".heading input").disabled);
  check((await ask(url, "GET", "/v1/models/people")).visibility === "private", "it is not private");
  console.log("ok: its threshold and its job change, and who sees it");
}

// Predicts a file; the lines of what is downloaded.
async function filePredicted(page, path) {
  await page.setInputFiles("#predict-file", path);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Predict the file" }).click()]);
  return { name: download.suggestedFilename(), lines: readFileSync(await download.path(), "utf8").trimEnd().split("\n") };
}

// Opens a view anew: the one before it has a field of the same name.
async function opened(page, hash) {
  await page.goto("about:blank");
  await page.goto(`/#/${hash}`);
}

async function files({ page, url, shots }, id) {
  const csv = `${shots}/new people.csv`;
  const rows = columns.slice(1, 41).map((line) => line.split(",").slice(0, -1).join(","));
  writeFileSync(csv, `${columns[0].split(",").slice(0, -1).join(",")}\n${rows.join("\n")}\n`);
  await opened(page, `jobs/${id}`);
  const { name, lines } = await filePredicted(page, csv);
  const answer = await (await fetch(`${url}/v1/jobs/${id}/predict`, { method: "POST", headers: { "Content-Type": "text/csv" }, body: readFileSync(csv) })).json();
  check(name === "new people-predicted.csv" && lines[0] === `${columns[0].split(",").slice(0, -1).join(",")},survived_predicted,survived_probability_no,survived_probability_yes`, `${name}: ${lines[0]}`);
  check(lines.length === 41 && rows.every((row, i) => lines[i + 1].startsWith(`${row},${answer.classes[i]},`)), lines.slice(0, 3).join("\n"));
  await page.getByText("Predicted: new people-predicted.csv").waitFor();

  // semicolons: the daemon asks which mark it is; what is no row is left out, and said
  writeFileSync(csv, `from the office\r\nsex;age;<b>fare</b>;joined;name;id\r\nmale;31;2.5;1912-01-03;"a;b";1\r\nfemale;;9;1912-01-03;"two\r\nlines";2\r\n`);
  await page.setInputFiles("#predict-file", csv);
  await page.getByRole("button", { name: "Predict the file" }).click();
  await page.locator("#predict-rows .bad").filter({ hasText: "Between cells: semicolon" }).waitFor();
  await page.locator("#predict-file-delimiter").fill("semicolon");
  const odd = await filePredicted(page, csv);
  const text = odd.lines.join("\n");
  check(/^sex;age;<b>fare<\/b>;joined;name;id;survived_predicted;survived_probability_no;survived_probability_yes\r\nmale;31;2\.5;1912-01-03;"a;b";1;(yes|no);[\d.]+;[\d.]+\r\nfemale;;9;1912-01-03;"two\r\nlines";2;/.test(text), text);
  await page.locator("#predict-rows").getByText("1 line before the table").waitFor();

  // by a model's threshold: all yes
  await ask(url, "PUT", "/v1/models/all", { job: id, threshold: 0 });
  const many = Array.from({ length: 12000 }, (_, i) => `${i % 3 ? "male" : "female"},${i % 80},${i % 100},1912-01-03`);
  writeFileSync(csv, `sex,age,<b>fare</b>,joined\n${many.join("\n")}\n`);
  await opened(page, "models/all");
  await page.getByLabel("with the probability of each class").uncheck();
  const all = await filePredicted(page, csv);
  check(all.lines.length === 12001 && many.every((row, i) => all.lines[i + 1] === `${row},yes`), `${all.lines.length} lines: ${all.lines[1]}`);

  many[7000] = "male,young,3,1912-01-03";
  writeFileSync(csv, `sex,age,<b>fare</b>,joined\n${many.join("\n")}\n`);
  await page.setInputFiles("#predict-file", csv);
  await page.getByRole("button", { name: "Predict the file" }).click();
  await page.locator("#predict-rows .bad").filter({ hasText: /\/rows\/7000\/age: .*young/ }).waitFor();
  writeFileSync(csv, "a,b\n1,2\n");
  await page.setInputFiles("#predict-file", csv);
  await page.getByRole("button", { name: "Predict the file" }).click();
  await page.locator("#predict-rows .bad").filter({ hasText: "column" }).waitFor();
  console.log("ok: a file of rows comes back with its predictions, of a job and of a model");
}

// Rows that are dropped on a job or a model are predicted; what may be more than that is asked about, and can be uploaded.
async function dropped({ page, url }, id) {
  const names = "sex,age,<b>fare</b>,joined", rows = ["male,31,2.5,1912-01-03", "female,,9,1912-01-03"];
  await opened(page, `jobs/${id}`);
  await page.locator("#predict select").first().waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), drop(page, "five.csv", `${names}\n${rows.join("\n")}\n`)]);
  check(download.suggestedFilename() === "five-predicted.csv" && /^sex,age,.*survived_predicted/.test(readFileSync(await download.path(), "utf8")), download.suggestedFilename());
  check((await fetch(`${url}/v1/datasets/five`)).status === 404, "what is predicted became a dataset");
  await opened(page, "models/all");
  await page.locator("#predict select").first().waitFor();
  await drop(page, "whole.csv", `${names},survived\n${rows.map((row, i) => `${row},${i ? "yes" : "no"}`).join("\n")}\n`);
  const dialog = page.getByRole("dialog", { name: "What is whole.csv for?" });
  await dialog.getByText("It has the columns that all learnt from, and survived, which it predicts.").waitFor();
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `the question: ${JSON.stringify(faults)}`);
  const [other] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Predict with all" }).click()]);
  check(other.suggestedFilename() === "whole-predicted.csv", other.suggestedFilename());
  await drop(page, "else.csv", `"a;b";sex\n${Array.from({ length: 20 }, (_, i) => `${i};${i % 2 ? "male" : "female"}`).join("\n")}\n`);
  const second = page.getByRole("dialog", { name: "What is else.csv for?" });
  await second.getByText("It has no column age, from which all learnt.").waitFor();
  await second.getByRole("button", { name: "Go back" }).click();
  await drop(page, "else.csv", `a,b\n${Array.from({ length: 20 }, (_, i) => `${i},${2 * i}`).join("\n")}\n`);
  await second.getByRole("button", { name: "Upload as a dataset" }).click();
  await page.waitForURL(/#\/datasets\/else$/);
  console.log("ok: rows that are dropped on a job or a model are predicted, or become a dataset");
}

// A model whose inputs are no columns is asked by a row of numbers; pictures have their field.
async function others({ page, url }) {
  await ask(url, "PUT", "/v1/models/xor", { job: await trained(url, xor()) });
  await page.goto("/#/models/xor");
  await page.fill("#predict-json", "[0, 1]");
  await page.getByRole("button", { name: "Predict", exact: true }).click();
  await page.locator(".predict-answer strong").getByText("1", { exact: true }).waitFor();
  const said = execFileSync("python3", ["-c", await page.getByLabel("The same with Python").textContent()], { encoding: "utf8" });
  check(/class \[0\]/.test(said), said);
  await squaresPut(url);
  await ask(url, "PUT", "/v1/models/squares", { job: await trained(url, { data: { dataset: "squares" }, model: { layers: [{ type: "flatten" }, { type: "linear", out_features: 2 }] }, loss: "cross_entropy", epochs: 2 }) });
  await page.goto("/#/models/squares");
  await page.locator("#predict-picture").waitFor();
  await page.goto("/#/models");
  await page.getByRole("row").filter({ hasText: "people" }).getByText(/^yes from a probability of 0\.\d+ on$/).waitFor();
  check((await page.locator(".models-table tbody tr").count()) === 4, "a model is missing");
  console.log("ok: models of plain numbers and of pictures");
}

async function unpublish({ page, url }) {
  await page.goto("/#/models/xor");
  await page.getByRole("button", { name: "Unpublish" }).click();
  const dialog = page.getByRole("dialog", { name: "Unpublish xor?" });
  await dialog.getByRole("button", { name: "Go back" }).click();
  check((await fetch(`${url}/v1/models/xor`)).ok, "it went at once");
  await page.getByRole("button", { name: "Unpublish" }).click();
  await dialog.getByRole("button", { name: "Unpublish" }).click();
  await page.waitForURL(/#\/models$/);
  check((await fetch(`${url}/v1/models/xor`)).status === 404, "it is published still");
  console.log("ok: unpublished, once that is agreed to");
}

run(async ({ url, open, shots }) => {
  await peoplePut(url);
  const other = await trained(url, spec({ seed: 2 }));
  const id = await trained(url, spec());
  await trained(url, spec({ data: { dataset: "people", target: "sex", exclude: ["id", "name"] } }));
  const page = await open({ expected: [/40[04]|422/] });
  const here = { page, url, shots };
  await publish(here, id);
  await tryIt(here);
  await decideAndMove(here, id, other);
  await files(here, id);
  await dropped(here, id);
  await others(here);
  await unpublish(here);
});
