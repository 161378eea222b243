// The page of a job when it has ended: what stopped it, what failed, what auto chose, which class a metric is of, a matrix of
// many classes, the rows to come of a forecast; run again, edit as new; and a dataset that is deleted on its page.

import { readFileSync } from "node:fs";

import { accessibilityFaults, ask, begun, changed, check, ended, endless, overhang, peoplePut, run, trained, xor } from "./page.mjs";

const dense = (width, out) => [{ type: "linear", out_features: width }, { type: "relu" }, { type: "linear", out_features: out }];

const jobId = (page) => page.url().split("#/jobs/")[1].split("?")[0];

async function stoppedEarly({ page, url }) {
  const id = await trained(url, xor({ data: { generator: "disc", rows: 300, validation: 0.3 }, optimizer: { lr: 0.000001 }, epochs: 5000, early_stopping: { patience: 2, min_delta: 10 } }));
  const { progress, stopped } = await ask(url, "GET", `/v1/jobs/${id}`);
  check(stopped === "early_stopping" && progress.epoch < 100, `${stopped} after ${progress.epoch}`);
  await page.goto(`/#/jobs/${id}`);
  await page.getByText(`Stopped early after epoch ${progress.epoch} of 5,000`).waitFor();
  await page.getByText(`kept epoch 1 of ${progress.epoch}, whose validation loss (`).waitFor();
  check((await page.getByRole("progressbar", { name: "Progress" }).evaluate((bar) => bar.value)) === 1, "its bar is not full");
  await page.goto("/#/jobs");
  check((await page.getByRole("progressbar").first().evaluate((bar) => bar.value)) === 1, "its bar is not full in the list");
  console.log("ok: a job that stopped early says so and which epoch was kept, and its bar is full");
}

async function failed({ page, url }) {
  const id = await trained(url, { name: "diverges", data: { dataset: "people", target: "age", exclude: ["id", "name"] }, model: { layers: dense(8, 1) }, loss: "mse", optimizer: { type: "sgd", lr: 1e9 }, epochs: 50 });
  const { status, error, weights } = await ask(url, "GET", `/v1/jobs/${id}`);
  check(status === "failed" && weights, `${status}, ${JSON.stringify(weights)}`);
  await page.goto(`/#/jobs/${id}`);
  await page.getByText("ended: failed").waitFor();
  await page.getByRole("button", { name: "Download the weights as ONNX" }).waitFor();
  check((await page.getByText(error.message).count()) === 1, "what to do does not stand once");
  check(await page.locator("#predict").isHidden(), "a failed job predicts");
  check(await page.getByRole("button", { name: "Publish" }).isHidden(), "a failed job is published");
  console.log("ok: a failed job says once what to do, and offers no predictions");
}

async function again({ page, url }) {
  const id = await trained(url, xor({ name: "once", tags: ["more"], epochs: 77 }));
  await page.goto(`/#/jobs/${id}`);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForFunction((first) => !location.hash.endsWith(first), id);
  const next = jobId(page);
  await ended(url, next);
  const [a, b] = [await ask(url, "GET", `/v1/jobs/${id}`), await ask(url, "GET", `/v1/jobs/${next}`)];
  check(JSON.stringify(a.spec) === JSON.stringify(b.spec), `${JSON.stringify(b.spec)} is another job`);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByLabel("Notes").fill("for the paper");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".notes").getByText("for the paper").waitFor();
  await page.getByRole("link", { name: "Edit as new" }).click();
  await page.waitForFunction(() => document.querySelector("#json")?.value.includes('"epochs": 77'));
  check(!(await page.inputValue("#json")).includes("notes"), "the notes go on to another job");
  console.log("ok: run again runs again, edit as new opens the form");
}

// The daemon's words are shown as they are, and the baseline beside the metric.
async function chosen({ page, url }) {
  const id = await trained(url, { data: { dataset: "people", target: "survived" }, model: "auto" });
  const auto = { summary: "Classifies survived from 4 columns.", task: "classification", baseline: null, hint: "the other task: data.task" };
  const baseline = { metric: "accuracy", value: 0.625, of: "the most frequent class alone" };
  await changed(page, `**/v1/jobs/${id}`, (job) => ({ ...job, auto, metrics: { ...job.metrics, baseline } }));
  await page.goto(`/#/jobs/${id}`);
  await page.getByRole("region", { name: "Chosen from the data" }).getByText("Classifies survived from 4 columns.").waitFor();
  await page.getByText("the other task: data.task").waitFor();
  await page.getByText(/· Accuracy [\d.]+.% \(the most frequent class alone: 62.50.%\)$/).waitFor();
  await page.getByText("share of rows; the most frequent class alone: 62.50 %").waitFor();
  for (const word of ["Precision of yes", "Recall of yes", "F1 of yes"]) await page.getByRole("rowheader", { name: word }).waitFor();
  await page.unroute(`**/v1/jobs/${id}`);

  // the same again leaves nothing open, and is held against the same
  const { spec, metrics } = await ask(url, "GET", `/v1/jobs/${id}`);
  const other = await trained(url, { ...spec, name: "again" });
  const second = await ask(url, "GET", `/v1/jobs/${other}`);
  check(second.auto === null && JSON.stringify(second.metrics.baseline) === JSON.stringify(metrics.baseline) && metrics.baseline.of === 'always "no"', JSON.stringify(second.metrics.baseline));
  await page.goto(`/#/jobs/${other}`);
  await page.getByText(/· Accuracy [\d.]+.% \(always "no": [\d.]+.%\)$/).waitFor();
  await page.goto(`/#/compare?jobs=${id},${other}`);
  const results = page.getByRole("region", { name: "Results" });
  for (const word of ["Test Precision of yes", "Test Recall of yes", "Test F1 of yes", "To beat"]) await results.getByRole("columnheader", { name: word, exact: true }).waitFor();
  check((await results.getByRole("cell", { name: /^always "no": [\d.]+.%$/ }).count()) === 2, await results.textContent());
  const opposite = await trained(url, { ...spec, data: { ...spec.data, positive: "no" } });
  await page.goto(`/#/compare?jobs=${id},${opposite}`);
  for (const word of ["of yes", "of no"]) await results.getByText(word, { exact: true }).first().waitFor();

  await page.goto("/#/datasets/people");
  await page.getByLabel("is", { exact: true }).selectOption("regression");
  await page.route("**/v1/jobs", (route) => route.fulfill({ status: 201, json: { id } }));
  const [sent] = await Promise.all([page.waitForRequest((request) => request.method() === "POST"), page.click("#train")]);
  check(sent.postDataJSON().data.task === "regression", sent.postData());
  await page.waitForURL(/#\/jobs\/job_/);
  await page.unroute("**/v1/jobs");
  console.log("ok: what was chosen in the daemon's words, the baseline beside the metric, and the task");
}

// What runs for long is cancelled after a question, from the keyboard as well.
async function asksFirst({ page, url }) {
  const { id } = await ask(url, "POST", "/v1/jobs", xor({ name: "precious", ...endless }));
  await begun(url, id);
  const ranFor = (job, seconds) =>
    changed(page, `**/v1/jobs/${job}`, (answer) => ({ ...answer, started_at: new Date(Date.now() - 1000 * seconds).toISOString() }));
  await ranFor(id, 3600);
  await page.goto(`/#/jobs/${id}`);
  const button = page.getByRole("button", { name: "Cancel job" }), dialog = page.getByRole("dialog", { name: "Cancel precious?" });
  await button.focus();
  await page.keyboard.press("Enter");
  await dialog.getByText("It began 1 h ago.").waitFor();
  check((await page.evaluate(() => document.activeElement.textContent)) === "Go back", "the focus is not on the way out");
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `the question: ${JSON.stringify(faults)}`);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  check((await page.evaluate(() => document.activeElement.textContent)) === "Cancel job", "the focus is lost");
  check((await ask(url, "GET", `/v1/jobs/${id}`)).status === "running", "it was cancelled without a yes");
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Cancel the job" }).press("Enter");
  await page.locator(".badge[data-state=cancelled]").waitFor();
  await page.unroute(`**/v1/jobs/${id}`);
  const next = (await ask(url, "POST", "/v1/jobs", xor({ name: "cheap", ...endless }))).id;
  await begun(url, next);
  await ranFor(next, -60); // however slow the machine is
  await page.goto(`/#/jobs/${next}`);
  await button.click();
  await page.locator(".badge[data-state=cancelled]").waitFor();
  await page.unroute(`**/v1/jobs/${next}`);
  console.log("ok: a long job asks before it is cancelled, a short one does not");
}

// A link has what is looked at.
async function keepsView({ page, url }) {
  const id = await trained(url, { name: "kept", data: { dataset: "people", target: "survived", exclude: ["id", "name"], test: 0.2 }, model: { layers: dense(8, 2) }, loss: "cross_entropy", epochs: 20, report_every: 1 });
  await page.goto(`/#/jobs/${id}`);
  await page.locator(".plot canvas").first().waitFor();
  await page.getByLabel("Horizontal axis").selectOption("seconds");
  await page.locator("#curve-measure").selectOption("error");
  await page.locator("#curve-log").click();
  await page.getByLabel("Smoothing").fill("0.5");
  await page.getByRole("button", { name: "Show plots" }).click();
  await page.locator("[data-plot=confusion].plot-picture").waitFor();
  await page.getByRole("button", { name: "ROC", exact: true }).click();
  await page.locator("[data-plot=roc].plot-picture").waitFor();
  const link = page.url();
  check(new URL(link).hash === `#/jobs/${id}?x=seconds&y=error&log=on&smoothing=0.5&plot=roc`, link);
  await page.goto("about:blank");
  await page.goto(link);
  await page.locator("[data-plot=roc].plot-picture").waitFor();
  check((await page.locator("#curve-over").inputValue()) === "seconds" && (await page.locator("#curve-measure").inputValue()) === "error" && (await page.locator("#curve-smoothing").inputValue()) === "0.5" && (await page.locator("#curve-log").getAttribute("aria-pressed")) === "true", "the link forgets what is drawn");
  await page.goto("/#/datasets/people");
  await page.locator("#target").selectOption({ label: "age" });
  await page.locator("#task").selectOption("regression");
  check(new URL(page.url()).hash === "#/datasets/people?target=age&task=regression", page.url());
  await page.reload();
  await page.locator("#target").waitFor();
  check((await page.locator("#target").evaluate((menu) => menu.selectedOptions[0].textContent)) === "age" && (await page.locator("#task").inputValue()) === "regression", "a reload forgets the target");
  console.log("ok: a link keeps what is drawn, the plot and the target");
}

async function manyClasses({ page, url }) {
  const names = Array.from({ length: 30 }, (_, i) => `a rather long name of class ${i}`);
  const csv = `u,v,kind\n${Array.from({ length: 1800 }, (_, i) => `${(i % 30) % 6 + ((i * 7919) % 100) / 60},${Math.floor((i % 30) / 6) + ((i * 104729) % 100) / 60},${names[i % 30]}`).join("\n")}\n`;
  check((await fetch(`${url}/v1/datasets/kinds`, { method: "PUT", body: csv })).ok, "the dataset was refused");
  const id = await trained(url, { data: { dataset: "kinds", target: "kind", test: 0.3 }, model: { layers: dense(32, 30) }, loss: "cross_entropy", optimizer: { type: "adam", lr: 0.01 }, epochs: 10, batch_size: 32 });
  await page.goto(`/#/jobs/${id}`);
  const matrix = page.getByRole("region", { name: "Counts of each class" });
  await matrix.waitFor();
  const size = () => matrix.evaluate((node) => `${node.querySelectorAll("tbody tr").length} × ${node.querySelectorAll("thead th").length}`);
  check((await size()) === "12 × 14", `the matrix is ${await size()}`);
  const { metrics: { test: { confusion }, class_names } } = await ask(url, "GET", `/v1/jobs/${id}`);
  const row = await matrix.locator("tbody tr").first().locator("th, td").allTextContents();
  const total = confusion[class_names.indexOf(row[0])].reduce((sum, n) => sum + n, 0);
  check(row.slice(1, -1).reduce((sum, text) => sum + (Number(text) || 0), 0) === total, `${row} is not ${total}`);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    check((await overhang(page)) <= 0, `the page hangs over at ${width} pixels`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("button", { name: "All 30 classes" }).click();
  check((await size()) === "30 × 31", `the matrix is ${await size()}`);
  check(await page.evaluate(() => document.activeElement.textContent === "The 12 most confused"), "the focus is lost");
  console.log("ok: of many classes the most confused are shown, and all at a click");
}

async function forecast({ page, url }) {
  const hours = Array.from({ length: 400 }, (_, i) => `${new Date(Date.UTC(2024, 0, 1, i)).toISOString().slice(0, 16)},${(10 + Math.sin(i / 3)).toFixed(3)},${i % 20},${i % 2 ? "north" : "south"}`);
  check((await fetch(`${url}/v1/datasets/heat`, { method: "PUT", body: `hour,heat,wind,site\n${hours.join("\n")}\n` })).ok, "the series was refused");
  const data = { dataset: "heat", target: "heat", time: "hour", window: { length: 12, horizon: 3 }, test: 0.2, standardize: ["y"] };
  const id = await trained(url, { data, model: { layers: dense(8, 1) }, loss: "mse", optimizer: { type: "adam", lr: 0.01 }, epochs: 5 });
  const other = await trained(url, { data: { generator: "xor" }, model: { layers: dense(4, 1) }, loss: "bce_with_logits", epochs: 5 });
  await page.goto(`/#/compare?jobs=${id},${other}`); // a series has no baseline, another job has one
  await page.getByRole("region", { name: "Differences in the settings" }).waitFor();
  // jobs that predict different columns are not compared without a word; metrics are seen without scrolling
  const winds = await trained(url, { data: { ...data, target: "wind" }, model: { layers: dense(8, 1) }, loss: "mse", epochs: 5 });
  await page.goto(`/#/compare?jobs=${id},${winds}`);
  await page.getByText("the jobs predict different columns, so their metrics are not comparable: heat, wind").waitFor();
  const right = await page.locator(".results-table th").filter({ hasText: /^Test R²/ }).evaluate((head) => head.getBoundingClientRect().right);
  const seen = await page.getByRole("region", { name: "Results" }).evaluate((region) => region.getBoundingClientRect().right);
  check(page.viewportSize().width === 1280 && right <= seen, `Test R² ends at ${right} of ${seen}`);
  await page.goto(`/#/jobs/${id}`);
  await ask(url, "DELETE", `/v1/jobs/${winds}`);
  // as many rows as need nothing to be known come at once, with the error and what it is of
  const said = page.getByRole("region", { name: "Forecast", exact: true });
  const steps = (count) => page.waitForFunction((rows) => document.querySelectorAll(".predict-answer tbody tr").length === rows, count);
  await steps(3);
  await page.getByText(/Test rows: off by [0-9.]+ on average, 3 rows ahead \(the last value: [0-9.]+\)\. Rows further/).waitFor();
  await page.getByRole("heading", { name: "Metrics, 3 rows ahead" }).waitFor();
  const ahead = page.getByRole("region", { name: "Rows to come" });
  check((await ahead.count()) === 0, "rows to come are asked for within the horizon");
  // others are asked for, and nothing stands there already
  await page.getByLabel("Rows to forecast").fill("6");
  await ahead.locator("tbody tr").nth(2).waitFor();
  check((await ahead.locator("tbody tr").count()) === 3, "6 steps at a horizon of 3 need 3 rows");
  check((await ahead.locator("input, select").evaluateAll((all) => all.filter(({ value }) => value).length)) === 0, "cells are filled in");
  const first = await ahead.locator("tbody th").first().textContent();
  check(first === "2024-01-17 16:00", `the first row to come is of ${first}`);
  await page.getByText("learnt from wind, site as well").waitFor();
  const go = page.getByRole("button", { name: "Forecast", exact: true });
  await go.click();
  check(await page.evaluate(() => document.querySelector("#predict").matches(":invalid")), "missing cells are sent");
  await ahead.getByLabel("wind, row 1", { exact: true }).fill("7");
  await ahead.getByLabel("site, row 1", { exact: true }).selectOption("north");
  await page.getByRole("button", { name: "Copy the first row down" }).click();
  await ahead.getByLabel("wind, row 2", { exact: true }).fill("3");
  const [changed] = await Promise.all([page.waitForRequest(/\/predict$/), go.click()]);
  const body = changed.postDataJSON();
  check(body.rows.length === 14 && JSON.stringify(body.future) === '[{"wind":7,"site":"north"},{"wind":3,"site":"north"},{"wind":7,"site":"north"}]', JSON.stringify(body.future));
  await steps(6);
  check((await said.locator("tbody tr").count()) === 6, "the forecast is no table");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
  check(download.suggestedFilename() === "heat-forecast.csv", download.suggestedFilename());
  const csv = readFileSync(await download.path(), "utf8").trim().split("\n");
  check(csv.length === 7 && csv[0] === "hour,heat_predicted" && /^2024-01-17T16:00:00,[\d.]+$/.test(csv[1]), csv.slice(0, 2).join(" | "));
  console.log("ok: a forecast comes by itself, says what its error is of, and asks for the rows to come");
}

async function deleted({ page, url }) {
  await page.goto("/#/datasets/heat");
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete heat?" });
  await dialog.getByText("1 job was trained on it: it stays, and what was learnt keeps working.").waitFor();
  await dialog.getByRole("button", { name: "Go back" }).click();
  check((await fetch(`${url}/v1/datasets/heat`)).ok, "it went at once");
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete the dataset" }).click();
  await page.waitForURL(/#\/datasets$/);
  check((await fetch(`${url}/v1/datasets/heat`)).status === 404, "the dataset is still there");
  await page.goto(`/#/jobs/${(await ask(url, "GET", "/v1/jobs?search=heat")).data[0].id}`);
  await page.locator("#predict-json").waitFor(); // there are no rows to go on from
  await page.locator("#predict-rows").waitFor();
  console.log("ok: a dataset is deleted on its page, once that is agreed to");
}

run(async ({ url, open }) => {
  await peoplePut(url);
  const page = await open({ expected: [/404/] });
  for (const part of [stoppedEarly, failed, again, chosen, asksFirst, keepsView, manyClasses, forecast, deleted]) await part({ page, url });
});
