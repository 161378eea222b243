// page.mjs: a browser for one test, and what every page of it is watched for: errors on the console, violations
// of the policy, requests to anyone but the daemon, answers of 4xx and 5xx that no test asked for.

import { createRequire } from "node:module";
import { readFileSync, mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Milliseconds for whatever should happen: a machine may be busy, and draws without a GPU.
const patience = 240000;

// Epochs of a job that will be cancelled: it must not end before.
export const endless = { epochs: 900000000, report_every: 1000000 };

export class Failure extends Error {}

export function check(holds, what) {
  if (!holds) throw new Failure(what);
}

// Runs `test` ({url, browser, shots, open}) and ends the process with 0 or 1.
export async function run(test) {
  const [url, shots] = process.argv.slice(2);
  mkdirSync(shots, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.EPOCHD_CHROMIUM,
    timeout: patience,
    args: ["--no-sandbox", "--disable-dev-shm-usage"], // a test is often root, in a container
  });
  const watched = [];
  const open = async (options = {}) => {
    const page = await openPage(browser, options.url ?? url, options);
    watched.push(page);
    return page;
  };
  let status = 0;
  try {
    await test({ url, browser, shots, open });
    for (const page of watched) page.noFaults();
  } catch (error) {
    status = 1;
    console.log(`FAILED: ${error instanceof Failure ? error.message : error.stack}`);
    for (const page of watched) {
      for (const fault of page.faults) console.log(`  the page: ${fault}`);
      await page.screenshot({ path: `${shots}/failed.png`, fullPage: true }).catch(() => {});
    }
  }
  await browser.close();
  process.exit(status);
}

// options: {theme: "light"|"dark", width, height, expected: [patterns of faults that the test provokes], url: another than the
// daemon's, context: another page's, to be a tab beside it}
async function openPage(browser, url, { theme = "light", width = 1280, height = 800, expected = [], context: beside } = {}) {
  const context = beside ?? await browser.newContext({
    baseURL: url, colorScheme: theme, viewport: { width, height }, acceptDownloads: true,
    reducedMotion: "reduce", // no colour half-way to another, which axe-core would measure
  });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  page.faults = [];
  const fault = (text) => {
    if (!expected.some((pattern) => pattern.test(text))) page.faults.push(text);
  };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) fault(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => fault(`exception: ${error.stack}`));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== new URL(url).origin) fault(`asks ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) fault(`${response.status()} ${response.request().method()} ${response.url()}`);
  });
  await page.exposeFunction("reportViolation", (text) => fault(`policy: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
  });
  page.noFaults = () => check(page.faults.length === 0, `the page had faults: ${page.faults.join("; ")}`);
  return page;
}

// What axe-core finds, minor things too, on the page or a part of it: [{id, help, nodes}]. Its rules are WCAG's and its
// own; `rules` takes some of them alone.
export async function accessibilityFaults(page, part = "html", rules = {}) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axeSource);
  const { violations } = await page.evaluate(([selector, options]) => window.axe.run(selector, { resultTypes: ["violations"], ...options }), [part, rules]);
  return violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => `${node.target.join(" ")} {${node.failureSummary.replace(/\s+/g, " ")}}`) }));
}

// The rules that another theme can break: names, roles and order are the same in both.
export const colours = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };

// The daemon's answers to `pattern` come changed by `change(answer)`, whole each time, until the route is removed. An
// answer may be on its way when it is, or when the page goes: nobody reads that one.
export const changed = (page, pattern, change) =>
  page.route(pattern, async (route) => {
    try {
      const response = await route.fetch({ headers: { ...route.request().headers(), "if-none-match": "" } });
      await route.fulfill({ response, json: change(await response.json()) });
    } catch (error) {
      if (!/already handled|closed|disposed/.test(error.message)) throw error;
    }
  });

// Waits until what knows its size only in a frame, as charts do, is drawn.
export const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

// The page follows the system, which has that theme from now on.
export async function themeSet(page, theme) {
  await page.emulateMedia({ colorScheme: theme });
  await page.waitForFunction((name) => [undefined, name].includes(document.documentElement.dataset.theme), theme);
  await drawn(page);
}

// How far the page is wider than its window; nothing on a phone may scroll sideways but what is meant to. After a change of
// the window charts need a moment, which is more on a busy machine.
export async function overhang(page) {
  const over = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  await drawn(page);
  await page.waitForFunction(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth, null, { timeout: 10000 }).catch(() => {});
  return page.evaluate(over);
}

// Asks the daemon itself, beside the page.
export async function ask(url, method, path, body, headers = {}) {
  const response = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Failure(`${method} ${path}: ${response.status} ${text.slice(0, 400)}`);
  return text && (response.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : text;
}

// Waits until the job has one of these states.
async function becomes(url, id, states) {
  for (const end = Date.now() + patience; Date.now() < end; ) {
    if (states.includes((await ask(url, "GET", `/v1/jobs/${id}`)).status)) return id;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Failure(`${id} is never ${states}`);
}

export const ended = (url, id) => becomes(url, id, ["succeeded", "failed", "cancelled"]);

// What waits for its turn behind it has a place then.
export const begun = (url, id) => becomes(url, id, ["running"]);

// Submits a job and waits for its end; its id.
export async function trained(url, spec) {
  const { id } = await ask(url, "POST", "/v1/jobs", spec);
  return ended(url, id);
}

export async function sweepEnded(url, id) {
  for (let i = 0; i < 40; i++) if ((await ask(url, "GET", `/v1/sweeps/${id}?wait=5`)).finished_at) return;
  throw new Failure(`${id} does not end`);
}

// Submits a sweep and waits for its end; its id.
export async function swept(url, spec) {
  const { id } = await ask(url, "POST", "/v1/sweeps", spec);
  await sweepEnded(url, id);
  return id;
}

// Keeps the charts of the study that is shown as a picture, once they are drawn.
export async function pictureTake(page, path) {
  await page.locator(".study-charts .heat tbody tr, .study-charts canvas").first().waitFor();
  await drawn(page);
  const { x, y, width, height } = await page.locator(".study-picture").boundingBox();
  const air = 10; // pixels
  await page.screenshot({ path, fullPage: true, clip: { x: x - air, y: y + (await page.evaluate(() => scrollY)) - air, width: width + 2 * air, height: height + 2 * air } });
}

// Epochs without an end, with a checkpoint after each segment of training.
export const checkpointed = { ...endless, checkpoint: { every_seconds: 0 } };

// Waits until the job has that state, and a checkpoint.
export async function reaches(url, id, status) {
  for (const end = Date.now() + patience; Date.now() < end; ) {
    const job = await ask(url, "GET", `/v1/jobs/${id}`);
    const { data } = await ask(url, "GET", `/v1/jobs/${id}/checkpoints`);
    if (job.status === status && data.length) return data[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Failure(`${id} is never ${status}, with a checkpoint`);
}

export const xor = (extra = {}) => ({
  name: "xor",
  data: { generator: "xor" },
  model: { layers: [{ type: "linear", out_features: 4 }, { type: "tanh" }, { type: "linear", out_features: 1 }] },
  loss: "bce_with_logits",
  optimizer: { type: "sgd", lr: 0.5, momentum: 0.9 },
  epochs: 1000,
  ...extra,
});

// A table as people have it: words, dates, gaps, an identifier, a cell at fault, and names that look like markup.
export const peopleCsv = `id,name,sex,age,<b>fare</b>,joined,survived\n${Array.from({ length: 300 }, (_, i) => {
  const sex = (i * 7) % 3 ? "male" : "female";
  const fare = (i * 37) % 100;
  const name = `"<img src=x onerror=alert(${i})>"`;
  return [i, name, sex, i === 250 ? "old" : i % 11 ? (i * 13) % 80 : "", `${fare}.5`, `191${i % 3}-0${(i % 9) + 1}-1${i % 9}`, sex === "female" || fare > 80 ? "yes" : "no"].join(",");
}).join("\n")}\n`;

export async function peoplePut(url, name = "people") {
  const put = await fetch(`${url}/v1/datasets/${name}`, { method: "PUT", body: peopleCsv });
  check(put.ok, `the dataset was refused: ${put.status} ${await put.text()}`);
}

// Cancels what is shown; of what runs for long the page asks first.
export async function cancelled(page, kind = "job") {
  const question = page.getByRole("dialog").getByRole("button", { name: `Cancel the ${kind}` }), badge = page.locator(".badge[data-state=cancelled]");
  await page.getByRole("button", { name: `Cancel ${kind}` }).click();
  await question.or(badge).first().waitFor();
  if (await question.isVisible()) await question.click();
  await badge.waitFor();
}

// Agrees to a deletion.
export const deleted = (page, kind) => page.getByRole("dialog").getByRole("button", { name: `Delete the ${kind}` }).click();

// Drops a file on the page, as a browser reports it.
export const drop = (page, name, text) => page.evaluate(([fileName, content]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([content], fileName));
  for (const type of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
}, [name, text]);

// Grey pictures of 8 by 8 bytes, as NPY: x and y apart.
export async function squaresPut(url, name = "squares") {
  const npy = (shape, bytes) => {
    const head = `{'descr': '|u1', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
    const text = `${head.padEnd(117)}\n`;
    return Buffer.concat([Buffer.from([0x93]), Buffer.from("NUMPY"), Buffer.from([1, 0, text.length & 255, text.length >> 8]), Buffer.from(text), Buffer.from(bytes)]);
  };
  const x = Array.from({ length: 20 * 64 }, (_, i) => (i * 5) % 256);
  for (const [part, content] of [["x", npy([20, 8, 8], x)], ["y", npy([20], x.slice(0, 20).map((byte) => byte % 2))]])
    check((await fetch(`${url}/v1/datasets/${name}/train/${part}`, { method: "PUT", body: content })).ok, `${part} was refused`);
}

// A series: an hour a row, of two sites in turn.
export async function powerPut(url) {
  const hours = Array.from({ length: 1600 }, (_, i) => `${new Date(Date.UTC(2024, 0, 1, i)).toISOString().slice(0, 16)},${(10 + Math.sin(i / 3)).toFixed(3)},${i % 2 ? "north" : "south"}`);
  check((await fetch(`${url}/v1/datasets/power`, { method: "PUT", body: `hour,power,site\n${hours.join("\n")}\n` })).ok, "the series was refused");
}
