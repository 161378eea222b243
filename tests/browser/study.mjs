// Studies on two devices: each is submitted by a button as one request, watched, and drawn; what the page says is what the
// daemon answers; a sweep leads to its study, and one over a range has none.

import { readFileSync } from "node:fs";
import { accessibilityFaults, ask, check, overhang, pictureTake, run, sweepEnded, swept } from "./page.mjs";

const studyId = (page) => page.url().split("#/studies/")[1];
const card = (page, name) => page.getByRole("region", { name, exact: true });

// Submits by the form of that name; the sweep at its end, and its study.
async function submit({ page, url }, name, fields) {
  await page.goto("/#/studies");
  const before = (await ask(url, "GET", "/v1/sweeps")).data.length;
  const form = card(page, name);
  for (const [label, text] of Object.entries(fields)) await form.getByLabel(label, { exact: true }).fill(text);
  await form.getByRole("button", { name: "Submit the study" }).click();
  await page.waitForURL(/#\/studies\/swp_/);
  // The list of before may still be there, with the badge of another: the daemon says when this one is at its end.
  await sweepEnded(url, studyId(page));
  await page.locator(".badge[data-state=succeeded]").waitFor();
  const { data } = await ask(url, "GET", "/v1/sweeps");
  check(data.length === before + 1 && data[0].id === studyId(page), `${data.length - before} sweeps were submitted`);
  check((await ask(url, "GET", "/v1/jobs")).data.length === 0, "jobs were submitted too");
  return { sweep: await ask(url, "GET", `/v1/sweeps/${studyId(page)}`), study: await ask(url, "GET", `/v1/sweeps/${studyId(page)}/study`) };
}

async function doubling({ page, url, shots }) {
  const { sweep, study } = await submit({ page, url }, "Networks that double", { "Layers, from": "2", to: "5", Epochs: "5", Repeats: "2" });
  check(sweep.progress.done === 16 && study.cells.length === 8, `${sweep.progress.done} trainings, ${study.cells.length} cells`);
  check(sweep.spec.exclusive && sweep.spec.warm_up === 1, "other jobs may run beside it, or there is no warm-up");
  const rows = page.getByRole("region", { name: "Cells" }).locator("tbody tr");
  await page.waitForFunction(() => document.querySelectorAll(".cells-table tbody tr").length === 8);
  const first = await rows.first().locator("td").allTextContents();
  check(first[0] === "cpu" && first[1] === "2 layers" && first[2] === "22" && /± /.test(first[3]), `the first cell is ${first}`);

  const chart = card(page, "Time of an epoch over parameters");
  await chart.locator("canvas").waitFor();
  check((await chart.locator(".legend li").allTextContents()).join() === "cpu,cuda:0", "there is not a line for each device");
  check(/cpu: 4 points.*cpu, each repeat: 8 points/.test(await chart.locator("figure > p").textContent()), "the picture does not say what it shows");
  const sentences = await page.locator(".verdict").allTextContents();
  const counts = study.crossovers.length;
  const wanted = counts === 0 ? /faster throughout/ : counts > 2 ? /neither is clearly faster/ : /^(cpu|cuda:0) is faster below [\d,.]+ parameters( \[[\d,.]+ to [\d,.]+\])?, /;
  check(sentences.length === 1 && wanted.test(sentences[0]), `of ${counts} crossovers it says ${sentences}`);

  check((await card(page, "What each axis changes").locator("tbody tr").count()) === study.effects.length, "an effect is missing");
  check((await card(page, "Two axes together").locator(".heat tbody td").count()) === 8, "the interaction has other cells");
  const boxes = card(page, "The repeats of each cell, against their median");
  check((await boxes.locator(".row-dot").count()) === 16 && (await boxes.locator(".row-box").count()) === 8, "a repeat is not drawn");
  await page.getByLabel("Job", { exact: true }).selectOption({ label: "3 layers, 70 parameters" });
  for (const what of ["An epoch", "The test", "Training and test"])
    await page.getByRole("img", { name: new RegExp(`^${what} of 3 layers: cpu [\\d.]+ (µs|ms|s), cuda:0 [\\d.]+ (µs|ms|s)$`) }).waitFor();
  check(/rows1000/.test((await card(page, "What does not vary").textContent()).replaceAll(" ", "")), "the controls lack the rows");

  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
  const lines = readFileSync(await download.path(), "utf8").trimEnd().split("\n");
  check(download.suggestedFilename() === "doubling.csv" && lines.length === 9 && lines[0].includes("repeat 2"), `the CSV is ${lines[0]}`);

  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    check((await overhang(page)) <= 0, `at ${width} px it hangs over the edge`);
    const faults = await accessibilityFaults(page);
    check(faults.length === 0, `at ${width} px: ${JSON.stringify(faults).slice(0, 2000)}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await pictureTake(page, `${shots}/doubling.png`);
  console.log("ok: networks that double, one request, drawn as the daemon has them");
  return sweep;
}

async function shapes({ page, url, shots }) {
  const { sweep, study } = await submit({ page, url }, "Rows × nodes × depth", { Epochs: "2", Repeats: "3" });
  check(sweep.progress.done === 30 && study.axes[1].pointers.length === 2, `${sweep.progress.done} trainings`);
  await page.waitForFunction(() => document.querySelectorAll(".cells-table tbody tr").length === 10);
  check((await page.locator(".cells-table tbody tr").last().textContent()).startsWith("cuda:05000 × 128 × 5"), "the last configuration has another name");
  await card(page, "Training time over parameters").locator("canvas").waitFor();
  await pictureTake(page, `${shots}/rows-nodes-depth.png`);
  console.log("ok: rows, nodes and depth that move together");
}

async function sweeps({ page, url }, sweep) {
  await page.goto(`/#/sweeps/${sweep.id}`);
  await page.getByRole("link", { name: "Study", exact: true }).click();
  await page.getByRole("heading", { name: "doubling" }).waitFor();
  await page.getByRole("link", { name: "Its sweep" }).click();
  await page.waitForURL(/#\/sweeps\/swp_/);
  const job = { ...sweep.spec.job, data: { ...sweep.spec.job.data, validation: 0.2 }, epochs: 2, device: "cpu" };
  const range = await swept(url, { job, space: { "/optimizer/lr": { log_uniform: [0.01, 0.1] } }, max_trials: 2 });
  await page.goto(`/#/sweeps/${range}`);
  await page.locator(".badge[data-state=succeeded]").waitFor();
  check(await page.getByRole("link", { name: "Study", exact: true }).isHidden(), "a sweep over a range leads to a study");
  await page.goto(`/#/studies/${range}`);
  await page.getByRole("alert").filter({ hasText: "is a range" }).waitFor();
  // An axis of numbers, and neither parameters nor a device that differ.
  const rates = await swept(url, { job, metric: "validation.accuracy", repeats: 2, space: { "/optimizer/lr": { values: [0.01, 0.03, 0.1] }, "/model/layers/1/type": { values: ["relu", "tanh"] } } });
  await page.goto(`/#/studies/${rates}`);
  const chart = card(page, "Validation accuracy over lr");
  await chart.locator("canvas").waitFor();
  check((await chart.locator(".legend li").allTextContents()).join() === "relu,tanh", "the lines are not the activations");
  console.log("ok: a sweep leads to its study, one over a range has none, any axes are drawn");
}

run(async ({ url, open, shots }) => {
  const page = await open({ expected: [/409/] });
  const here = { page, url, shots };
  const sweep = await doubling(here);
  await shapes(here);
  await sweeps(here, sweep);
});
