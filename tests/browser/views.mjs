// The views beside the jobs: the queue is put in another order; a dataset is deleted, but not while a job needs it;
// scales that are hard to mark; the two themes.

import { ask, begun, check, deleted, ended, endless, run, xor } from "./page.mjs";

async function reorder({ page, url }) {
  const { id } = await ask(url, "POST", "/v1/jobs", xor({ name: "holds", ...endless }));
  await begun(url, id);
  const first = (await ask(url, "POST", "/v1/jobs", xor({ name: "first" }))).id;
  const second = (await ask(url, "POST", "/v1/jobs", xor({ name: "second" }))).id;
  await page.goto("/#/devices");
  const queue = page.getByRole("region", { name: "Queue" }).locator("tbody tr");
  await queue.nth(2).waitFor();
  const order = async () => (await queue.allTextContents()).map((text) => /holds|first|second/.exec(text)[0]).join(" ");
  check((await order()) === "holds first second", `the queue is ${await order()}`);
  await page.getByRole("button", { name: "Raise the priority of second" }).click();
  await page.waitForFunction(() => [...document.querySelectorAll("[aria-label=Queue] tbody tr")].map((row) => row.textContent).findIndex((text) => text.includes("second")) === 1);
  check((await ask(url, "GET", `/v1/jobs/${second}`)).priority === 10, "the daemon does not know of it");
  for (const each of [first, second, id]) await ask(url, "POST", `/v1/jobs/${each}/cancel`);
  await page.getByText("No running or queued jobs.").waitFor();
  console.log("ok: who waits was put in another order");
}

async function datasets({ page, url }) {
  const csv = `a,b\n${Array.from({ length: 50 }, (_, i) => `${i},${2 * i}`).join("\n")}\n`;
  check((await fetch(`${url}/v1/datasets/line`, { method: "PUT", body: csv })).ok, "the dataset was refused");
  const { id } = await ask(url, "POST", "/v1/jobs", {
    name: "needs-it", data: { dataset: "line", target: "b" }, model: { layers: [{ type: "linear", out_features: 1 }] }, loss: "mse", optimizer: { lr: 0.0001 }, ...endless,
  });
  await page.goto("/#/datasets");
  const button = page.getByRole("button", { name: "Delete line" });
  await button.click();
  await deleted(page, "dataset");
  await page.getByRole("alert").filter({ hasText: "in use" }).waitFor();
  await ask(url, "POST", `/v1/jobs/${id}/cancel`);
  await ended(url, id);
  await button.click();
  await deleted(page, "dataset");
  await page.getByText("Drop a table, pictures or a series here").waitFor();
  check((await fetch(`${url}/v1/datasets/line`)).status === 404, "the dataset is still there");
  console.log("ok: a dataset is deleted, and not while a job needs it");
}

// The tab names what is shown, also where there is nothing.
async function titles({ page, url }) {
  const { id } = await ask(url, "POST", "/v1/jobs", xor({ name: "titled" }));
  await ended(url, id);
  check((await fetch(`${url}/v1/datasets/titled-rows`, { method: "PUT", body: "a,b\n1,2\n3,4\n" })).ok, "the dataset was refused");
  const of = { jobs: "Jobs", [`jobs/${id}`]: "titled", datasets: "Data", "datasets/titled-rows": "titled-rows", sweeps: "Sweeps", models: "Models", submit: "Submit", compare: "Compare",
    studies: "Studies", devices: "Devices", nowhere: "Page not found", "jobs/%": "Job", "datasets/nothing": "Something went wrong", "nowhere/at/all": "Page not found" };
  for (const [path, title] of Object.entries(of)) {
    await page.goto(`/#/${path}`);
    await page.waitForFunction((wanted) => document.title === `${wanted} · epochd` && document.querySelector("main h1"), title).catch(async () => check(false, `#/${path} is called ${await page.title()}, not ${title}`));
  }
  check((await page.locator("main h1").textContent()) === "Page not found", "the heading says something else");
  console.log("ok: the title names the view, on an unknown page too");
}

// Curves whose scales leave little room for ticks: all at once the page would hang.
async function scales({ page }) {
  await page.goto("/#/studies");
  const shown = await page.evaluate(async () => {
    const { createChart } = await import("/assets/chart.js");
    const hard = [[1.12e-6, 3e-6], [9.99e-9, 4e3], [0.25, 0.25 + 2 ** -54], [1e12, 1e12 + 1e-3], [5e-324, 1e-300], [7, 7]];
    const labels = [];
    for (const [least, most] of hard)
      for (const log of [false, true]) {
        const root = document.body.appendChild(document.createElement("div"));
        const chart = createChart(root, { title: "scale", x: { log }, y: { log } });
        chart.setData([{ label: "curve", x: [9.7, 32000], y: [least, most] }]);
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        labels.push(root.querySelectorAll("canvas").length);
        root.remove();
      }
    return labels;
  });
  check(shown.length === 12 && shown.every((count) => count === 1), `charts drew ${shown}`);
  console.log("ok: scales that begin anywhere have ticks that end");
}

// What the layers looked like, and a learning rate that is found by a button and trained with by another.
async function inside({ page, url }) {
  const spec = xor({ name: "inside", epochs: 400, report: { layers: true }, report_every: 1 });
  const { id } = await ask(url, "POST", "/v1/jobs", spec);
  await ended(url, id);
  await page.goto(`/#/jobs/${id}`);
  const layers = page.getByRole("region", { name: "Layers" });
  await layers.locator(".histograms rect").first().waitFor();
  check(Number(await layers.getAttribute("data-lines")) >= 2, "there are no lines of layers");
  await layers.getByLabel("Quantity to plot").selectOption("weight_norm");
  await layers.getByLabel("The layer whose outputs are drawn").selectOption("2");
  await layers.getByRole("img", { name: /Outputs of layer 2 over the epochs/ }).waitFor();
  await page.goto("/#/submit?example=xor");
  await page.getByRole("button", { name: "Find a learning rate" }).click();
  const found = page.getByRole("region", { name: "Learning rate" });
  await found.getByText(/Train with [\d.]+/).waitFor();
  const { data } = await ask(url, "GET", "/v1/jobs?limit=1");
  await found.getByRole("link", { name: "Train with it" }).click();
  await page.getByRole("heading", { name: "Submit a job" }).waitFor();
  await page.waitForFunction(() => document.querySelector("#json")?.value.includes("optimizer"));
  const next = JSON.parse(await page.locator("#json").inputValue());
  check(next.find === undefined && Math.abs(next.optimizer.lr / data[0].found.proposal - 1) < 0.01, `the next job has ${JSON.stringify(next.optimizer)}`);
  console.log("ok: layers are drawn, and a learning rate is found and taken");
}

// The page follows the system's theme until one is chosen, which stays.
async function themes({ page }) {
  // After two frames the page has been told of a change.
  const shown = () => page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return `${document.documentElement.dataset.theme} ${getComputedStyle(document.body).backgroundColor}`;
  });
  const expect = async (theme, when) => {
    const [dark, light] = ["dark rgb(19, 22, 26)", "light rgb(246, 247, 248)"];
    const colours = await shown();
    check(colours === (theme === "dark" ? dark : light), `${when}: ${colours}`);
  };
  await page.goto("/#/jobs");
  await expect("light", "a light system");
  await page.emulateMedia({ colorScheme: "dark" });
  await expect("dark", "the system turned dark");
  await page.reload();
  await expect("dark", "a dark system");
  await page.getByRole("button", { name: "Light theme" }).click();
  await expect("light", "light was chosen");
  await page.emulateMedia({ colorScheme: "light" });
  await page.emulateMedia({ colorScheme: "dark" });
  await expect("light", "the system changed after the choice");
  await page.reload();
  await expect("light", "the choice was kept");
  await page.emulateMedia({ colorScheme: "light" });
  console.log("ok: the theme is the system's until one is chosen");
}

run(async ({ url, open }) => {
  const page = await open({ expected: [/409/, /404/, /400/] });
  for (const part of [reorder, datasets, scales, inside, themes, titles]) await part({ page, url });
});
