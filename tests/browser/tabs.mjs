// Eight tabs, each with a job that is not over: a browser has six connections to a daemon, and none of the tabs may wait for one.

import { ask, begun, check, endless, run, xor } from "./page.mjs";

const tabs = 8;
const watchers = async (url) => Number(/^epochd_watchers (\d+)$/m.exec(await ask(url, "GET", "/metrics"))[1]);

async function until(holds, what) {
  for (const end = Date.now() + 240000; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  check(false, what);
}

const ofType = (page, type) => page.locator(`.events li[data-type=${type}]`).first();

// As when another tab covers it: a test's tabs are all seen otherwise.
const hide = (page, hidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

async function eightJobs({ url, pages }) {
  const ids = [];
  for (let i = 0; i < tabs; i++) ids.push((await ask(url, "POST", "/v1/jobs", xor({ name: `job ${i}`, ...endless }))).id);
  await begun(url, ids[0]);
  for (const [i, page] of pages.entries()) {
    await page.goto(`/#/jobs/${ids[i]}`);
    await ofType(page, "queued").waitFor();
  }
  let most = 0;
  for (const [i, page] of pages.entries()) {
    await ask(url, "POST", `/v1/jobs/${ids[i]}/cancel`);
    await ofType(page, "end").waitFor();
    most = Math.max(most, await watchers(url));
  }
  check(most <= 1, `${most} streams at once`);
  console.log(`ok: ${tabs} tabs of ${tabs} jobs show each event, over one connection`);
}

async function oneJob({ url, pages }) {
  const { id } = await ask(url, "POST", "/v1/jobs", xor({ ...endless, report_every: 1000 }));
  await begun(url, id);
  for (const page of pages) await page.goto(`/#/jobs/${id}`);
  for (const page of pages) await ofType(page, "epoch").waitFor();
  await until(async () => (await watchers(url)) === 1, "tabs of one job do not share a stream");
  for (const page of pages) await hide(page, true);
  await until(async () => (await watchers(url)) === 0, "hidden tabs go on reading");
  await ask(url, "POST", `/v1/jobs/${id}/cancel`);
  await hide(pages[0], false);
  await ofType(pages[0], "end").waitFor();
  check((await ofType(pages[1], "end").count()) === 0, "a hidden tab has read the end");
  await hide(pages[1], false);
  await ofType(pages[1], "end").waitFor();
  console.log(`ok: ${tabs} tabs of one job share a stream, which ends while they are hidden, and goes on`);
}

run(async ({ url, open }) => {
  const first = await open();
  const pages = [first];
  while (pages.length < tabs) pages.push(await open({ context: first.context() }));
  await eightJobs({ url, pages });
  await oneJob({ url, pages });
  for (const page of pages) await page.goto("/#/devices");
  await until(async () => (await watchers(url)) === 0, "a stream stays open after its views were left");

  // a browser without shared workers: each tab for itself
  const alone = await open();
  await alone.addInitScript(() => delete window.SharedWorker);
  const { id } = await ask(url, "POST", "/v1/jobs", xor({ ...endless, report_every: 1000 }));
  await alone.goto(`/#/jobs/${id}`);
  await ofType(alone, "epoch").waitFor();
  await ask(url, "POST", `/v1/jobs/${id}/cancel`);
  await ofType(alone, "end").waitFor();
  console.log("ok: without a shared worker a tab reads for itself");
});
