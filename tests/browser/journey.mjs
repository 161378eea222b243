// What people do: submit XOR from the form, see its curve move and its end, do it again with the keyboard
// alone, compare both, take the weights away, cancel, delete.

import { readFileSync } from "node:fs";
import { ask, cancelled, check, checkpointed, deleted, endless, reaches, run, xor } from "./page.mjs";

const points = (page) => page.locator("[data-points]").evaluate((node) => Number(node.dataset.points));

// The spec of the form with other epochs, as one would type them.
async function setEpochs(page, epochs) {
  await page.waitForFunction(() => document.querySelector("#json")?.value.includes('"epochs"'));
  await page.fill("#json", JSON.stringify({ ...JSON.parse(await page.inputValue("#json")), epochs }, null, 2));
}

const jobId = (page) => page.url().split("#/jobs/")[1].split("?")[0];

async function submitXor({ page, url }) {
  await page.goto("/");
  await page.getByRole("link", { name: "Submit", exact: true }).click();
  await page.selectOption("#example", "xor");
  await setEpochs(page, endless.epochs);
  await page.click("#submit");
  await page.waitForURL(/#\/jobs\/job_/);
  await page.locator(".badge[data-state=running]").waitFor();
  await page.waitForFunction(() => Number(document.querySelector("[data-points]")?.dataset.points) > 1);
  const before = await points(page);
  await page.waitForFunction((count) => Number(document.querySelector("[data-points]").dataset.points) > count, before);
  const inked = await page.locator(".plot canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 3; i < data.length; i += 4) count += data[i] > 0;
    return count;
  });
  check(inked > 500, `the curve is not drawn: ${inked} pixels`);
  console.log(`ok: XOR runs, its curve moved from ${before} to ${await points(page)} points`);

  await cancelled(page);
  const job = await ask(url, "GET", `/v1/jobs/${jobId(page)}`);
  check(job.status === "cancelled", `the daemon says ${job.status}`);
  console.log("ok: cancelled from the page");
}

// Its checkpoints appear while it trains; paused it stays in the list; resumed it goes on.
async function pauseIt({ page, url }) {
  const { id } = await ask(url, "POST", "/v1/jobs", xor({ name: "pauses", ...checkpointed }));
  await page.goto(`/#/jobs/${id}`);
  await page.locator("tr[data-step]").first().waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".badge[data-state=paused]").waitFor();
  const newest = await reaches(url, id, "paused");
  check(await page.getByRole("button", { name: "Pause" }).isHidden(), "what is paused can be paused");
  await page.getByText(/^paused at epoch [\d,]+ of 900,000,000$/).waitFor();
  const row = page.locator(`tr[data-step="${newest.step}"]`);
  await row.waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), row.getByRole("button", { name: "Download the weights" }).click()]);
  const response = await fetch(`${url}/v1/jobs/${id}/checkpoints/${newest.step}/weights`);
  check(readFileSync(await download.path()).equals(Buffer.from(await response.arrayBuffer())), "the checkpoint's weights are others");
  check(download.suggestedFilename() === `pauses-${newest.step}.safetensors`, download.suggestedFilename());

  await page.goto("/#/jobs");
  await page.getByLabel("State", { exact: true }).selectOption({ label: "Paused" });
  await page.getByRole("link", { name: "pauses" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator(".badge[data-state=running]").waitFor();
  await page.getByText(/^resumed at epoch /).waitFor();
  await cancelled(page);
  console.log("ok: paused and resumed from the page, with the weights of a checkpoint");
}

async function seeItEnd({ page, url }) {
  await page.goto("/#/submit?example=xor");
  await setEpochs(page, 3000000);
  await page.click("#submit");
  await page.waitForURL(/#\/jobs\/job_/);
  await page.locator(".badge[data-state=succeeded]").waitFor();
  const id = jobId(page);
  const job = await ask(url, "GET", `/v1/jobs/${id}`);
  check(job.status === "succeeded" && job.metrics.test.accuracy === 1, "XOR was not learnt");
  await page.getByText("Test time").first().waitFor();
  console.log("ok: the page shows its end");
  return id;
}

async function takeWeights({ page, url }, id) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download the weights as safetensors" }).click(),
  ]);
  const taken = readFileSync(await download.path());
  const response = await fetch(`${url}/v1/jobs/${id}/weights`);
  check(taken.equals(Buffer.from(await response.arrayBuffer())), "the weights are others");
  check(/\.safetensors$/.test(download.suggestedFilename()), download.suggestedFilename());
  console.log(`ok: weights, ${taken.length} bytes`);
}

// From the address bar to a trained job without a pointer: Tab, Enter, typing.
async function keyboardOnly({ page }) {
  await page.goto("/#/jobs");
  await page.locator("h1").waitFor();
  const focused = () => page.evaluate(() => {
    const node = document.activeElement;
    return `${node.tagName} ${node.id} ${node.textContent.trim().slice(0, 40)}`;
  });
  // Presses Tab until `fits` holds of what has the focus; each stop must be visible.
  async function tabTo(fits, what) {
    for (let i = 0; i < 80; i++) {
      await page.keyboard.press("Tab");
      const here = await page.evaluate(() => {
        const node = document.activeElement;
        const style = getComputedStyle(node);
        const box = node.getBoundingClientRect();
        return { body: node === document.body, id: node.id, text: node.textContent.trim(), ringed: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0, seen: box.width > 0 && box.height > 0 };
      });
      if (!here.body) check(here.ringed && here.seen, `no ring is seen around ${await focused()}`);
      if (fits(here)) return;
    }
    check(false, `Tab does not reach ${what}; it stands at ${await focused()}`);
  }
  await tabTo((here) => here.text === "Submit", "the link to the form");
  await page.keyboard.press("Enter");
  await page.locator("#submit").waitFor();
  await page.waitForFunction(() => document.activeElement?.tagName === "H1");
  await tabTo((here) => here.id === "example", "the examples");
  for (const letter of "XOR") await page.keyboard.press(letter);
  await tabTo((here) => here.id === "submit", "the button");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/jobs\/job_/);
  await page.locator(".badge[data-state=succeeded]").waitFor();
  console.log("ok: submitted with the keyboard alone");
  return jobId(page);
}

async function compareThem({ page }, ids) {
  await page.goto("/#/jobs");
  for (const id of ids) await page.locator(`tr:has(a[href$="${id}"]) input[type=checkbox]`).check();
  await page.getByRole("button", { name: "Compare 2" }).click();
  await page.waitForURL(/#\/compare\?jobs=/);
  await page.getByRole("row").filter({ hasText: "/epochs" }).waitFor();
  await page.locator(".plot canvas").waitFor();
  check((await page.locator(".legend li").count()) === 2, "not two curves");
  await page.getByRole("combobox", { name: "Over" }).selectOption("elapsed_seconds");
  await page.waitForURL(/x=elapsed_seconds/);
  await page.reload();
  await page.locator(".legend li").nth(1).waitFor();
  check((await page.getByRole("combobox", { name: "Over" }).inputValue()) === "elapsed_seconds", "a reload forgets the axis");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
  const csv = readFileSync(await download.path(), "utf8");
  check(ids.every((id) => csv.includes(id)) && csv.trim().split("\n").length === 3, `the CSV is ${csv.slice(0, 300)}`);
  console.log("ok: two jobs compared, over epochs and seconds, and as CSV");
}

// A training on four ranks: cut in the form, looked at in the check, its ranks in a table at the end.
async function severalRanks({ page, url }) {
  await page.goto("/#/submit?example=xor");
  await setEpochs(page, 1000);
  check(await page.locator("#f-parallel-data").isHidden(), "the fields for experts are not folded up");
  await page.getByText("Advanced", { exact: true }).click();
  await page.fill("#f-parallel-data", "2");
  await page.fill("#f-parallel-model", "2");
  await page.getByText("2 replicas of 2 stages in 2 micro-batches").waitFor();
  await page.locator(".check-state[data-state=good]").waitFor();
  await page.getByText("Shapes of 3 layers").click();
  await page.getByAltText("The layers and what each of them reads").evaluate((picture) => picture.decode());
  await page.click("#submit");
  await page.waitForURL(/#\/jobs\/job_/);
  await page.locator(".badge[data-state=succeeded]").waitFor();
  const rows = page.getByRole("region", { name: "Ranks" }).locator("tr[data-rank]");
  await rows.nth(3).waitFor();
  const { executor, ranks, parallel } = await ask(url, "GET", `/v1/jobs/${jobId(page)}`);
  check(executor === "cpu/ranks" && ranks.length === 4 && parallel.stages.length === 2, `${executor}, ${ranks?.length} ranks`);
  check((await rows.count()) === 4, `${await rows.count()} ranks are shown`);
  await page.getByText(/^The ranks waited .*, its bubble\.$/).waitFor();
  console.log("ok: a training on four ranks, and what each of them did");
}

async function deleteIt({ page, url }, id) {
  await page.goto(`/#/jobs/${id}`);
  await page.getByRole("button", { name: "Delete" }).click();
  await deleted(page, "job");
  await page.waitForURL(/#\/jobs$/);
  check((await fetch(`${url}/v1/jobs/${id}`)).status === 404, "the job is still there");
  console.log("ok: deleted from the page");
}

run(async ({ url, open }) => {
  const page = await open();
  const here = { page, url };
  await submitXor(here);
  await pauseIt(here);
  const first = await seeItEnd(here);
  await takeWeights(here, first);
  const second = await keyboardOnly(here);
  await compareThem(here, [first, second]);
  await severalRanks(here);
  await deleteIt(here, second);
});
