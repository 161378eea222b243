// What people do with sweeps: ranges are typed into the form, the sweep is submitted, watched and looked at; trials
// become jobs and are compared; a long sweep is paused, resumed, cancelled and deleted; a job has repeats.

import { accessibilityFaults, ask, cancelled, check, deleted, drawn, endless, overhang, run } from "./page.mjs";

const trialsCount = 24;

const spec = async (page) => JSON.parse(await page.inputValue("#json"));
const sweepId = (page) => page.url().split("#/sweeps/")[1].split("?")[0];
const accepted = (page) => page.locator(".check-state[data-state=good]").waitFor();
const refused = (page) => page.locator(".check-state[data-state=refused]").waitFor();

async function form({ page, url }) {
  await page.goto("/#/submit?example=disc");
  await accepted(page);
  await page.fill("#f-epochs", "5");
  await page.fill("#f-data-rows", "200");
  await page.fill("#f-optimizer-lr", "log:1e-3..1");
  await page.fill("#f-layer-0-out_features", "4..16");
  await page.fill("#f-layer-2-out_features", "4, 8, 16");
  await page.getByText("0.001 to 1, even in the logarithm").waitFor();
  check((await page.locator("#submit").textContent()) === "Submit sweep", "a range makes no sweep");
  const { space, job } = await spec(page);
  check(JSON.stringify(space) === JSON.stringify({
    "/model/layers/0/out_features": { int_uniform: [4, 16] }, "/model/layers/2/out_features": { values: [4, 8, 16] }, "/optimizer/lr": { log_uniform: [0.001, 1] },
  }), `the space is ${JSON.stringify(space)}`);
  check(!("lr" in job.optimizer) && !("name" in job), `the job is ${JSON.stringify(job)}`);
  await page.fill("#f-sweep-max_trials", String(trialsCount));
  await page.getByRole("definition").filter({ hasText: String(trialsCount) }).first().waitFor();

  // Faults stand at their fields, wherever the daemon finds them.
  for (const [id, value, line] of [
    ["f-optimizer-lr", "1..0.1", "f-optimizer-lr"], ["f-optimizer-lr", "-1, 0.1", "f-optimizer-lr"], ["f-epochs", "-3", "f-epochs"],
    ["f-layer-2-out_features", "4, 0", "f-layer-2"], ["f-sweep-metric", "validation.beauty", "f-sweep-metric"], ["f-data-validation", "0", "f-sweep-metric"],
  ]) {
    const before = await page.inputValue(`#${id}`);
    await page.fill(`#${id}`, value);
    await page.waitForFunction((error) => document.querySelector(`#${error}-error`).textContent !== "", line);
    await refused(page);
    await page.fill(`#${id}`, before);
    await accepted(page);
    check((await page.locator(`#${line}-error`).textContent()) === "", `${line} keeps its fault`);
  }

  // Without its ranges it is a job again, with them the sweep that it was.
  const made = await page.inputValue("#json");
  const ranges = ["#f-optimizer-lr", "#f-layer-0-out_features", "#f-layer-2-out_features"];
  const values = await Promise.all(ranges.map((each) => page.inputValue(each)));
  for (const each of ranges) await page.fill(each, "8");
  check((await page.locator("#submit").textContent()) === "Submit job" && !("space" in (await spec(page))), "without a range it is no job");
  for (const [i, each] of ranges.entries()) await page.fill(each, values[i]);
  check((await spec(page)).max_trials === JSON.parse(made).max_trials, "the number of trials was forgotten");
  await accepted(page);
  console.log("ok: ranges make a sweep, and its faults stand at their fields");

  await page.click("#submit");
  await page.waitForURL(/#\/sweeps\/swp_/);
  await page.locator(".badge[data-state=succeeded]").waitFor();
  const sweep = await ask(url, "GET", `/v1/sweeps/${sweepId(page)}`);
  check(sweep.progress.done === trialsCount && sweep.best, `the daemon has ${JSON.stringify(sweep.progress)}`);
  return sweep;
}

async function look({ page, url, shots }, sweep) {
  await page.getByText(`1 to ${trialsCount} of ${trialsCount} trials`).waitFor();
  await page.locator(".parameter canvas").nth(2).waitFor();
  const { data } = await ask(url, "GET", `/v1/sweeps/${sweep.id}/trials?limit=1000`);
  const shown = await page.locator(".trials-table tbody tr").evaluateAll((rows) => rows.map((row) => Number(row.dataset.trial)));
  check(JSON.stringify(shown) === JSON.stringify(data.map(({ trial }) => trial)), `the order is ${shown}`);
  const measured = data.filter(({ metric }) => typeof metric === "number").length;
  const points = await page.locator("[data-points]").evaluate((node) => Number(node.dataset.points));
  check(points === measured, `${points} of ${measured} trials are drawn`);
  check((await page.locator("#best-title").textContent()) === `The best: trial ${sweep.best.trial}`, "another trial is the best");
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await drawn(page);
    await page.screenshot({ path: `${shots}/sweep-${width}.png`, fullPage: true });
    check((await overhang(page)) <= 0, `at ${width} px it hangs over the edge`);
    const faults = await accessibilityFaults(page);
    check(faults.length === 0, `at ${width} px: ${JSON.stringify(faults).slice(0, 2000)}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByLabel("Order").selectOption("trial");
  await page.locator("#sweep-log").click();
  const log = await page.locator("#sweep-log").getAttribute("aria-pressed");
  check(new URL(page.url()).hash === `#/sweeps/${sweep.id}?sort=trial&log=${log === "true" ? "on" : "off"}`, page.url());
  await page.reload();
  await page.locator(".trials-table tbody tr").first().and(page.locator("[data-trial='0']")).waitFor();
  await page.locator(".parameter canvas").nth(2).waitFor();
  check((await page.locator("#sweep-log").getAttribute("aria-pressed")) === log, "a reload forgets the scale");
  await page.goto("/#/sweeps");
  const row = page.getByRole("row").filter({ has: page.locator(`a[href$="${sweep.id}"]`) });
  await row.waitFor();
  check((await row.textContent()).includes(`Succeeded${sweep.name}${trialsCount}`), await row.textContent());
  await page.screenshot({ path: `${shots}/sweeps.png`, fullPage: true });
  console.log("ok: a sweep is in the list, and all of its trials are drawn");
}

async function promote({ page, url }, sweep) {
  await page.goto(`/#/sweeps/${sweep.id}`);
  await page.getByRole("button", { name: `Promote trial ${sweep.best.trial}`, exact: true }).click();
  await page.waitForURL(/#\/jobs\/job_/);
  const id = page.url().split("#/jobs/")[1];
  await page.locator(".badge[data-state=succeeded]").waitFor();
  const job = await ask(url, "GET", `/v1/jobs/${id}`);
  check(job.spec.optimizer.lr === sweep.best.values["/optimizer/lr"], `its learning rate is ${job.spec.optimizer.lr}`);
  await page.goto(`/#/sweeps/${sweep.id}`);
  await page.getByRole("button", { name: "Promote", exact: true }).click();
  await page.waitForURL(new RegExp(`#/jobs/${id}$`));
  await page.getByText("(always", { exact: false }).waitFor(); // what is to be beaten
  await page.goto("/#/jobs");
  const tag = page.getByRole("button", { name: `sweep …${sweep.id.slice(-8)}` }).first();
  await tag.waitFor();
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await drawn(page);
    const over = await tag.evaluate((node) => node.getBoundingClientRect().right - node.closest("td").getBoundingClientRect().right);
    check(over <= 0, `at ${width} px the tag of the sweep is ${over} px beyond its cell`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`/#/sweeps/${sweep.id}`);
  await page.getByRole("button", { name: "Train the best 10 for curves" }).click();
  await page.waitForURL(/#\/compare\?jobs=/);
  await page.locator(".legend li").nth(9).waitFor();
  check(page.url().includes(id), "the best is not among the best ten");
  await page.waitForFunction(() => !document.querySelector("[aria-label=Results] .badge:not([data-state=succeeded])"));
  console.log("ok: a trial is a job, the same each time; the best ten are compared");
}

async function again({ page }, sweep) {
  await page.goto(`/#/submit?sweep=${sweep.id}`);
  await accepted(page);
  const { space, max_trials: count, job } = await spec(page);
  check(JSON.stringify(space) === JSON.stringify(sweep.spec.space) && count === trialsCount && job.epochs === 5, "what is run again is another sweep");
  check((await page.inputValue("#f-layer-2-out_features")) === "4, 8, 16", "the range does not stand in its field");
  console.log("ok: a sweep can be run again");
}

async function lifecycle({ page, url }, sweep) {
  const { id } = await ask(url, "POST", "/v1/sweeps", { ...sweep.spec, name: "long", max_trials: 1000, search: "random", job: { ...sweep.spec.job, ...endless, report_every: undefined } });
  await page.goto(`/#/sweeps/${id}`);
  await page.locator(".badge[data-state=running]").waitFor();
  await page.getByText("0 of 1,000 trainings").waitFor();
  await page.goto("/#/devices");
  await page.getByRole("region", { name: "Queue" }).getByRole("link", { name: "long" }).click();
  await page.waitForURL(new RegExp(`#/sweeps/${id}$`));
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".badge[data-state=paused]").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator(".badge[data-state=running]").waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.fill("#edit-name", "longer");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "longer" }).waitFor();
  await cancelled(page, "sweep");
  await page.getByRole("button", { name: "Delete" }).click();
  await deleted(page, "sweep");
  await page.waitForURL(/#\/sweeps$/);
  check((await fetch(`${url}/v1/sweeps/${id}`)).status === 404, "the sweep is still there");
  console.log("ok: paused, resumed, renamed, cancelled and deleted");
}

async function repeats({ page }) {
  await page.goto("/#/submit?example=xor");
  await accepted(page);
  await page.fill("#f-repeats", "3");
  await page.waitForFunction(() => JSON.parse(document.querySelector("#json").value).repeats === 3);
  await page.click("#submit");
  await page.waitForURL(/#\/jobs\/job_/);
  await page.getByRole("heading", { name: "Mean and deviation of 3 trainings" }).waitFor();
  check(/ ± /.test(await page.getByRole("region", { name: "Folds and repeats" }).locator("[data-metric='train.loss']").textContent()), "the loss has no deviation");
  console.log("ok: the repeats of a job have a mean and a deviation");
}

run(async ({ url, open, shots }) => {
  const page = await open({ expected: [/422/] });
  const here = { page, url, shots };
  const sweep = await form(here);
  await look(here, sweep);
  await promote(here, sweep);
  await again(here, sweep);
  await lifecycle(here, sweep);
  await repeats(here);
});
