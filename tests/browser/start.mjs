// The first minutes on the page: nothing there, an example at a click, a file dropped anywhere, Tune, and what the list and
// the comparison then show.

import { accessibilityFaults, ask, changed, check, drop, ended, overhang, run, sweepEnded, trained, xor } from "./page.mjs";

const faultless = async (page, what) => {
  const faults = await accessibilityFaults(page);
  check(faults.length === 0, `${what}: ${JSON.stringify(faults)}`);
};
const shot = (page, shots, name) => process.env.EPOCHD_SCREENSHOTS && page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });

async function empty({ page, url, shots }) {
  await page.goto("/");
  await page.getByRole("heading", { name: "Drop a table, pictures or a series here" }).waitFor();
  check(await page.getByRole("search").isHidden(), "an empty list has filters");
  await faultless(page, "an empty list");
  await shot(page, shots, "empty");
  await page.setViewportSize({ width: 390, height: 800 });
  check((await overhang(page)) === 0, "an empty list hangs over the edge of a phone");
  await shot(page, shots, "empty-phone");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("button", { name: /Predict the price of a flat/ }).click();
  await page.waitForURL(/#\/jobs\/job_/);
  await page.locator(".badge[data-state=succeeded]").waitFor();
  const { data } = await ask(url, "GET", "/v1/jobs");
  const job = await ask(url, "GET", `/v1/jobs/${data[0].id}`);
  check(data.length === 1 && job.spec.data.dataset === "flats" && job.metrics.test.r2 > 0.8, `${JSON.stringify(job.metrics?.test)}`);
  console.log("ok: an empty daemon has an example that trains at a click");
}

// flats.csv of other rows, dropped where no view takes files.
const otherFlats = `area,rooms,age,price\n${Array.from({ length: 60 }, (_, i) => `${35 + i},${1 + (i % 4)},${i % 50},${1000000 + 5000 * i}`).join("\n")}\n`;

async function droppedAnywhere({ page, url, shots }) {
  const before = await ask(url, "GET", "/v1/datasets/flats");
  await page.goto("/#/devices");
  await page.locator("tbody tr").first().waitFor();
  const over = (type) => page.evaluate((name) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([""], "x.csv"));
    document.body.dispatchEvent(new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true }));
  }, type);
  await over("dragover");
  await page.getByText("Drop it to upload").waitFor();
  await shot(page, shots, "overlay");
  await over("dragleave");
  check(await page.getByText("Drop it to upload").isHidden(), "the overlay stays when the file leaves");
  await drop(page, "flats.csv", otherFlats);
  await page.waitForURL(/#\/datasets\/flats-2$/);
  const notice = page.locator("#notice");
  await notice.filter({ hasText: 'dataset "flats" is another file: this one is "flats-2".' }).waitFor();
  check((await ask(url, "GET", "/v1/datasets/flats")).sha256 === before.sha256, "a dataset was overwritten");
  await page.getByText("1,000,000 … 1,295,000").waitFor();
  await faultless(page, "a dataset whose name was taken");
  await shot(page, shots, "aside");
  await drop(page, "flats.csv", otherFlats);
  await page.goto("/#/devices");
  check(await notice.isHidden(), "the notice stays on other pages");
  await drop(page, "flats.csv", `${otherFlats}100,4,10,1500000\n`);
  await page.waitForURL(/#\/datasets\/flats-3$/);
  await notice.getByRole("button", { name: "Replace “flats”" }).click();
  const dialog = page.getByRole("dialog", { name: "Replace flats?" });
  await dialog.getByText("1 job was trained on the rows that it has.").waitFor();
  await dialog.getByRole("button", { name: "Replace the rows" }).click();
  await page.waitForURL(/#\/datasets\/flats$/);
  const { data } = await ask(url, "GET", "/v1/datasets");
  check(data.map(({ name }) => name).sort().join() === "flats,flats-2" && data.find(({ name }) => name === "flats").rows === 61, JSON.stringify(data.map(({ name, rows }) => [name, rows])));
  await page.goto("/#/datasets");
  await page.locator("#upload-name").fill("flats-2");
  await page.setInputFiles("#upload-file", { name: "x.csv", mimeType: "text/csv", buffer: Buffer.from("a,price\n1,2\n2,3\n3,4\n") });
  await page.getByLabel("Replace a dataset of this name").check();
  await page.getByRole("button", { name: "Upload" }).click();
  await page.waitForURL(/#\/datasets\/flats-2$/);
  check((await ask(url, "GET", "/v1/datasets/flats-2")).rows === 3, "what was asked to be replaced was not");
  console.log("ok: a file is dropped on any page, and no name is overwritten unasked");
}

async function tuneAndOwn({ page, url, shots }) {
  await page.goto("/#/datasets/flats");
  await page.locator("#target").selectOption({ label: "rooms" });
  await page.getByRole("link", { name: "Configure a job" }).click();
  await page.locator(".check-state[data-state=good]").waitFor();
  const spec = JSON.parse(await page.inputValue("#json"));
  check(spec.data.target === "rooms" && Array.isArray(spec.model.layers) && (await page.inputValue("#f-data-target")) === "rooms", JSON.stringify(spec));
  check((await page.locator("#f-targets option").count()) === 4, "the columns are not suggested");
  await shot(page, shots, "own");
  await page.goto("/#/submit?dataset=flats");
  await page.locator(".check-state[data-state=good]").waitFor();
  check(JSON.parse(await page.inputValue("#json")).data.target === "price", "without a target the form has none");
  await page.goto("/#/datasets/flats");
  await page.locator("#target").selectOption({ label: "price" });
  check((await page.getByLabel("Trials").inputValue()) === "50", "Tune has another default");
  const tune = page.getByRole("button", { name: "Tune", exact: true });
  for (const wrong of ["", "0", "1000001", "2.5"]) {
    await page.getByLabel("Trials").fill(wrong);
    await tune.click();
    check(!(await page.getByLabel("Trials").evaluate((field) => field.validity.valid)), `“${wrong}” trials are sent`);
  }
  await page.getByLabel("Trials").fill("7");
  const [request] = await Promise.all([page.waitForRequest((each) => each.method() === "POST" && each.url().endsWith("/v1/sweeps")), tune.click()]);
  const sweep = request.postDataJSON();
  check(sweep.max_trials === 7 && sweep.job.data.target === "price" && sweep.space === "auto", request.postData());
  await page.waitForURL(/#\/sweeps\/swp_/);
  await sweepEnded(url, page.url().split("#/sweeps/")[1]);
  await page.locator(".trials-table tbody tr").first().waitFor();
  await page.getByRole("link", { name: "Edit as new" }).click();
  await page.waitForFunction(() => document.querySelector("#submit")?.textContent === "Submit sweep");
  await page.goto("/#/jobs");
  await page.getByRole("link", { name: "New job" }).click();
  await page.waitForFunction(() => document.querySelector("#submit")?.textContent === "Submit job");
  check(!("space" in JSON.parse(await page.inputValue("#json"))), "a new job is the last sweep");
  await page.fill("#f-name", "mine");
  await page.waitForFunction(() => JSON.parse(document.querySelector("#json").value).name === "mine");
  await page.goto("/#/jobs");
  await page.getByRole("link", { name: "Submit", exact: true }).click();
  await page.waitForFunction(() => document.querySelector("#json") && JSON.parse(document.querySelector("#json").value).name === "mine"); // what was not sent stays
  await page.click("#submit");
  await page.waitForURL(/#\/jobs\/job_/);
  const mine = page.url().split("#/jobs/")[1];
  await page.getByRole("link", { name: "Submit", exact: true }).click();
  await page.waitForFunction(() => document.querySelector("#json") && JSON.parse(document.querySelector("#json").value).name !== "mine");
  await ended(url, mine);
  await ask(url, "DELETE", `/v1/jobs/${mine}`);
  console.log("ok: a job of one's own opens valid, a new one fresh, and Tune sweeps what would be chosen");
}

// What the daemon warns of is shown before a job is sent, and on the page of a sweep.
async function warned({ page }) {
  const lines = ["best value at the edge of its range: widen it"];
  const add = (answer) => ({ ...answer, warnings: lines, auto: { summary: "Learns price.", hint: "Or its classes." } });
  await changed(page, /\/v1\/jobs\?validate=only$/, add);
  await page.goto("/#/submit?example=xor");
  await page.locator(".check-panel .notice.warning").filter({ hasText: lines[0] }).waitFor();
  await page.locator(".check-panel").getByText("Learns price. Or its classes.", { exact: true }).waitFor();
  await page.unroute(/\/v1\/jobs\?validate=only$/);
  await changed(page, /\/v1\/sweeps\/swp_[^/]*$/, add);
  await page.goto("/#/sweeps");
  await page.locator(".sweeps-table .job-link").first().click();
  await page.locator(".notice.warning").filter({ hasText: lines[0] }).waitFor();
  await page.locator(".view-sweep").getByText("Learns price. Or its classes.", { exact: true }).waitFor();
  await page.unroute(/\/v1\/sweeps\/swp_[^/]*$/);
  console.log("ok: warnings are shown, and what was chosen");
}

async function grouped({ page, url, shots }) {
  for (const [name, epochs] of [["a", 10], ["b", 20], ["b", 1000]]) await trained(url, xor({ name, epochs, tags: name === "b" ? ["demo"] : [] }));
  const { id: other } = await ask(url, "POST", "/v1/jobs", { name: "flats", data: { dataset: "flats", target: "price" }, model: "auto" });
  await ended(url, other);
  await trained(url, { name: "early", data: { dataset: "flats", target: "price", validation: 0.2 }, model: "auto", optimizer: { type: "adamw", lr: 1 }, epochs: 2000, early_stopping: { patience: 2 } });
  await page.goto("/#/jobs?q=early");
  await page.locator(".progress-words").filter({ hasText: "stopped early" }).waitFor();
  check((await page.locator("progress.meter").getAttribute("value")) === "1", "the bar of a job that stopped early is not full");
  await page.goto("/#/jobs?q=xor");
  await page.getByText("No job matches").waitFor();
  await page.goto("/#/jobs");
  await page.getByLabel("Groups").selectOption("name");
  const heads = page.locator(".jobs-table .group");
  await heads.nth(3).waitFor();
  const words = await heads.locator("th").allTextContents();
  check(words.join("|").replace(/best [^|]*/g, "best …") === "early1 job|flats2 jobs, the best …|b2 jobs, the best …|a1 job", words.join("|"));
  await page.getByLabel("Select all of b").check();
  await page.getByRole("button", { name: "Compare 2" }).waitFor();
  await page.getByRole("columnheader", { name: "Loss" }).getByRole("button").click();
  await faultless(page, "a grouped list");
  await shot(page, shots, "grouped");
  await page.setViewportSize({ width: 390, height: 800 });
  check((await overhang(page)) === 0, "a grouped list hangs over the edge of a phone");
  await shot(page, shots, "grouped-phone");
  await page.setViewportSize({ width: 1280, height: 800 });
  check(/group=name/.test(page.url()) && /picked=job_/.test(page.url()) && /sort=Loss/.test(page.url()), page.url());
  await page.reload();
  await page.getByRole("button", { name: "Compare 2" }).waitFor();
  check(await page.getByLabel("Select all of b").isChecked(), "a reload forgets what was picked");
  await page.getByLabel("Groups").selectOption("dataset");
  await page.locator(".jobs-table .group").filter({ hasText: "Without a dataset" }).waitFor();
  await page.getByLabel("Groups").selectOption("tag");
  await page.locator(".jobs-table .group").filter({ hasText: "demo" }).waitFor();
  console.log("ok: the list is in groups, and the address keeps the view");
}

async function baseline({ page, shots }) {
  await page.getByRole("button", { name: "Compare 2" }).click();
  await page.getByRole("combobox", { name: "Differences to" }).selectOption({ index: 1 });
  const row = page.getByRole("region", { name: "Results" }).locator("tbody tr").nth(1);
  await row.locator(".better, .worse").first().waitFor();
  check((await page.locator(".tag").filter({ hasText: "baseline" }).count()) === 1, "the baseline is not marked");
  check((await page.locator("td.differs").count()) > 0 && /base=job_/.test(page.url()), page.url());
  await page.reload();
  await row.locator(".better, .worse").first().waitFor();
  await faultless(page, "a comparison with a baseline");
  await shot(page, shots, "baseline");
  console.log("ok: jobs are compared with a baseline, which the address keeps");
}

run(async ({ url, open, shots }) => {
  const page = await open();
  for (const part of [empty, droppedAnywhere, tuneAndOwn, warned, grouped, baseline]) await part({ page, url, shots });
});
