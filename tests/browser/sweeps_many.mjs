// A sweep of 10,000 trials, which the test plays itself: the leaderboard is paged, the charts are thinned, and polls
// without news are 304s.

import { accessibilityFaults, cancelled, check, overhang, run } from "./page.mjs";

const id = "swp_01JAAAAAAAAAAAAAAAAAAAAAAA";
const total = 10000;
const mostDrawn = 2000;

const space = {
  "/optimizer/lr": { log_uniform: [1e-5, 1] },
  "/model/layers/0/out_features": { int_log_uniform: [4, 512] },
  "/model/layers/2/out_features": { values: [8, 16, 32, 64] },
  "/model/layers/1/type": { values: ["relu", "tanh", "gelu"] },
  "/optimizer/momentum": { uniform: [0, 0.99] },
  "/batch_size": { values: [16, 64, "full"] },
};

// Numbers from 0 to 1, the same each time.
function shares() {
  let state = 12345;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

function makeTrials() {
  const next = shares();
  const trials = Array.from({ length: total }, (_, trial) => {
    const lr = 10 ** (-5 + 5 * next());
    const width = Math.round(4 * 128 ** next());
    const values = {
      "/optimizer/lr": lr, "/model/layers/0/out_features": width, "/model/layers/2/out_features": [8, 16, 32, 64][Math.floor(4 * next())],
      "/model/layers/1/type": ["relu", "tanh", "gelu"][Math.floor(3 * next())], "/optimizer/momentum": 0.99 * next(), "/batch_size": [16, 64, "full"][Math.floor(3 * next())],
    };
    const diverged = lr > 0.5 && next() > 0.3;
    const metric = diverged ? null : 0.05 + 0.3 * (Math.log10(lr) + 2.2) ** 2 + 2 / width + 0.05 * next();
    return { trial, values, metric, deviation: diverged ? null : 0.01 * next(), metrics: [metric, metric], outcome: diverged ? "diverged" : "ok", epochs: 100, train_loss: metric, validation_loss: metric, test_loss: null, train_seconds: 0.02 };
  });
  const byMetric = [...trials.filter(({ metric }) => metric !== null).sort((a, b) => a.metric - b.metric), ...trials.filter(({ metric }) => metric === null)];
  byMetric.forEach((trial, i) => (trial.rank = i + 1));
  return { metric: byMetric, trial: trials };
}

const sweepOf = (trials) => ({
  id, object: "sweep", name: "many", tags: ["demo"], priority: 0, pinned: false, status: "running", device: "cpu",
  search: "random", metric: "validation.loss", mode: "min",
  spec: { name: "many", space, search: "random", metric: "validation.loss", mode: "min", max_trials: total, repeats: 2, folds: null, job: { loss: "mse" } },
  progress: { done: total, total: total + 1, fraction: total / (total + 1) },
  queue_position: null, warning: null, eta_seconds: 12, best: trials.metric[0], timing: { queued_seconds: 0.1, train_seconds: null },
  stopped: null, error: null, created_at: new Date().toISOString(), started_at: null, finished_at: null, attempt: 1,
});

// Plays /v1/sweeps for one page; what was asked: {method, path, status}.
async function play(page) {
  const trials = makeTrials();
  const asked = [];
  const state = { sweep: sweepOf(trials), trials, asked, version: 1 };
  await page.route(/\/v1\/sweeps(\/|\?|$)/, async (route) => {
    const request = route.request();
    const url = new URL(request.url());
    const etag = url.pathname.endsWith("/trials") ? "" : `"${state.version}-${url.pathname}${url.search}"`; // the leaderboard has none
    const answer = (status, body, headers = {}) => {
      asked.push({ method: request.method(), path: url.pathname + url.search, status });
      return route.fulfill({ status, headers: { "Content-Type": "application/json", ...(etag ? { ETag: etag } : {}), ...headers }, body: body === null ? "" : typeof body === "string" ? body : JSON.stringify(body) });
    };
    if (etag && request.headers()["if-none-match"] === etag) return answer(304, null);
    const [, , , which, what, trial] = url.pathname.split("/");
    if (request.method() === "POST" && what === "trials") return answer(201, { id: `job_of_${trial}`, object: "job" });
    if (request.method() === "POST") {
      state.sweep = { ...state.sweep, status: { pause: "paused", resume: "running", cancel: "cancelled" }[what] };
      state.version++;
      return answer(200, state.sweep);
    }
    if (!which) return answer(200, { object: "list", data: [{ ...state.sweep, spec: undefined }], has_more: false, next: null });
    if (!what) return answer(200, state.sweep);
    const sorted = trials[url.searchParams.get("sort") ?? "metric"];
    const [limit, offset] = [Number(url.searchParams.get("limit") ?? 100), Number(url.searchParams.get("offset") ?? 0)];
    if (url.searchParams.get("format") === "csv") return answer(200, `trial,metric\n${sorted.slice(offset, offset + limit).map((each) => `${each.trial},${each.metric ?? ""}`).join("\n")}\n`, { "Content-Type": "text/csv" });
    return answer(200, { object: "list", data: sorted.slice(offset, offset + limit), total, has_more: offset + limit < total, next: offset + limit < total ? offset + limit : null });
  });
  return state;
}

const points = (page) => page.locator("[data-points]").evaluate((node) => Number(node.dataset.points));

async function charts({ page, shots }) {
  await page.goto("/#/sweeps");
  await page.getByRole("link", { name: "many" }).waitFor();
  check((await page.locator("tbody tr").textContent()).includes("10,000 of 10,001"), "the list does not say how far it is");
  const began = performance.now();
  await page.getByRole("link", { name: "many" }).click();
  await page.locator("[data-points]").waitFor();
  await page.locator(".parameter canvas").nth(5).waitFor();
  const ms = Math.round(performance.now() - began);
  check((await points(page)) === mostDrawn, `${await points(page)} points are drawn`);
  const picture = page.getByRole("img", { name: "Validation loss and 6 parameters of each trial" });
  check(/^2,000 trials\. The best, trial \d+: lr 0\.00\d+, /.test(await page.locator(`#${await picture.getAttribute("aria-describedby")}`).textContent()), "the picture does not say what it shows");
  check((await picture.locator("path").count()) < 20, "a line is a node");
  check((await page.locator("[data-points] .legend").first().textContent()).includes("Best so far"), "there is no best so far");
  await page.screenshot({ path: `${shots}/many.png`, fullPage: true });
  console.log(`ok: 10,000 trials are drawn in ${ms} ms`);
}

async function idle({ page, state }) {
  const after = state.asked.length;
  const unchanged = () => state.asked.slice(after).filter(({ status }) => status === 304).length;
  while (unchanged() < 2) await page.waitForTimeout(100);
  const before = state.asked.length; // all that the first answers led to has been asked for
  while (unchanged() < 6) await page.waitForTimeout(100);
  const asked = state.asked.slice(before);
  check(asked.every(({ status, path }) => status === 304 && !path.includes("/trials")), `without news it asks ${JSON.stringify(asked)}`);
  const drawing = state.asked.filter(({ path, status }) => path.includes("limit=10000") && status === 200).length;
  check(drawing === 1, `all trials were fetched ${drawing} times`);
  console.log(`ok: ${asked.length} polls without news, all of them 304`);
}

async function pages({ page, state, shots }) {
  const rows = page.locator(".trials-table tbody tr");
  check((await rows.count()) === 50, `${await rows.count()} rows`);
  const best = state.trials.metric[0];
  const first = await rows.first().textContent();
  check(first.startsWith(`1${best.trial.toLocaleString("en-US")}`) && first.includes(" ± "), `the first row is ${first}`);
  await rows.first().hover();
  check((await page.locator("svg path").last().getAttribute("d")).length > 10, "the row's line is not marked");
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("51 to 100 of 10,000 trials").waitFor();
  await page.getByRole("button", { name: "Previous" }).click();
  await page.getByText("1 to 50 of 10,000 trials", { exact: true }).waitFor();
  await page.getByLabel("Order").selectOption("trial");
  await page.locator(".trials-table tbody tr[data-trial='0']").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
  check(download.suggestedFilename() === "many.csv", download.suggestedFilename());
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    check((await overhang(page)) <= 0, `at ${width} px it hangs ${await overhang(page)} px over the edge`);
    await page.screenshot({ path: `${shots}/many-${width}.png`, fullPage: true });
    const faults = await accessibilityFaults(page);
    check(faults.length === 0, `at ${width} px: ${JSON.stringify(faults).slice(0, 2000)}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  console.log("ok: the leaderboard is paged and sorted, and comes as CSV");
}

async function act({ page, state }) {
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".badge[data-state=paused]").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator(".badge[data-state=running]").waitFor();
  await page.getByRole("button", { name: "Train the best 10 for curves" }).click();
  await page.waitForURL(/#\/compare\?jobs=/);
  const promoted = state.asked.filter(({ path }) => path.endsWith("/promote")).map(({ path }) => Number(path.split("/")[5]));
  check(JSON.stringify(promoted) === JSON.stringify(state.trials.metric.slice(0, 10).map(({ trial }) => trial)), `promoted were ${promoted}`);
  await page.goto(`/#/sweeps/${id}`);
  const { trial } = state.trials.metric[2];
  await page.getByRole("button", { name: `Promote trial ${trial}`, exact: true }).click();
  await page.waitForURL(new RegExp(`#/jobs/job_of_${trial}$`));
  await page.goto(`/#/sweeps/${id}`);
  await cancelled(page, "sweep");
  check(await page.getByRole("button", { name: "Delete" }).isVisible(), "what has ended cannot be deleted");
  console.log("ok: paused, resumed, promoted, cancelled");
}

run(async ({ open, shots }) => {
  const page = await open({ expected: [/job_of_|compare/] });
  const here = { page, shots, state: await play(page) };
  for (const part of [charts, idle, pages, act]) await part(here);
});
