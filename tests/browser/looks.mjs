// Every view in both themes, on a desk and on a phone: axe-core finds nothing, and nothing hangs over the edge. With
// EPOCHD_SCREENSHOTS=1 a picture is kept of each, for people: that takes a third as long again.

import { accessibilityFaults, ask, check, checkpointed, colours, drawn, ended, endless, overhang, peoplePut, powerPut, reaches, run, squaresPut, swept, themeSet, trained, xor } from "./page.mjs";

const dense = (...widths) => widths.flatMap((width) => [{ type: "linear", out_features: width }, { type: "relu" }]);

// Something to look at: jobs of all kinds, a dataset, a study.
async function fill(url) {
  const rows = Array.from({ length: 120 }, (_, i) => [i % 12, (i * 7) % 31]);
  const csv = `area,rooms,price\n${rows.map(([a, b]) => `${a},${b},${3 * a - b + (i(a, b) % 5)}`).join("\n")}\n`;
  const put = await fetch(`${url}/v1/datasets/houses`, { method: "PUT", body: csv });
  check(put.ok, `the dataset was refused: ${put.status}`);
  await peoplePut(url);
  await squaresPut(url);
  await powerPut(url);
  const pictures = await trained(url, { name: "pictures", data: { dataset: "squares" }, model: { layers: [{ type: "flatten" }, { type: "linear", out_features: 2 }] }, loss: "cross_entropy", epochs: 2 });
  const series = await trained(url, {
    name: "power", data: { dataset: "power", target: "power", time: "hour", window: { length: 48 }, test: 0.2, standardize: ["y"] },
    model: { layers: [...dense(16), { type: "linear", out_features: 1 }] }, loss: "mse", optimizer: { type: "adam", lr: 0.01 }, batch_size: 64, epochs: 20,
  });
  const first = await trained(url, xor({ tags: ["demo"], epochs: 2000, repeats: 3 }));
  const other = await trained(url, xor({ name: "xor-slow", tags: ["demo"], optimizer: { lr: 0.05, momentum: 0.5 }, epochs: 2000 }));
  const houses = await trained(url, {
    name: "houses", data: { dataset: "houses", target: "price", test: 0.2, validation: 0.2, standardize: ["x", "y"] },
    model: { layers: [...dense(8), { type: "linear", out_features: 1 }] }, loss: "mse", optimizer: { lr: 0.05 }, epochs: 400,
  });
  const people = await trained(url, { data: { dataset: "people", target: "survived" }, model: "auto" });
  const kinds = `u,kind\n${Array.from({ length: 900 }, (_, k) => `${(k % 30) + ((k * 7919) % 100) / 50},a rather long name of class ${k % 30}`).join("\n")}\n`;
  check((await fetch(`${url}/v1/datasets/kinds`, { method: "PUT", body: kinds })).ok, "the classes were refused");
  const classes = await trained(url, { name: "classes", data: { dataset: "kinds", target: "kind", test: 0.3 }, model: { layers: [...dense(16), { type: "linear", out_features: 30 }] }, loss: "cross_entropy", optimizer: { type: "adam", lr: 0.01 }, epochs: 5 });
  await ask(url, "PUT", "/v1/models/people", { job: people, threshold: 0.3 });
  await ask(url, "PUT", "/v1/models/pictures", { job: pictures, visibility: "private" });
  const failed = await trained(url, { name: "diverges", data: { generator: "disc", rows: 100 }, model: { layers: [{ type: "linear", out_features: 1 }] }, loss: "mse", optimizer: { lr: 1e30 }, epochs: 50 });
  const study = await swept(url, {
    name: "doubling", tags: ["study"], metric: "epoch_microseconds", repeats: 2, exclusive: true,
    space: { "/model/layers": { values: [1, 3, 5].map((depth) => [...dense(...Array.from({ length: depth }, (_, k) => 2 ** (k + 2))), { type: "linear", out_features: 2 }]) }, "/batch_size": { values: [50, 100] } },
    job: { data: { generator: "disc", rows: 300, standardize: ["x"] }, model: { layers: [] }, loss: "cross_entropy", epochs: 20, device: "cpu" },
  });
  const sweep = await swept(url, {
    name: "widths", tags: ["demo"], max_trials: 30, repeats: 2,
    space: { "/model/layers/0/out_features": { int_log_uniform: [2, 32] }, "/model/layers/1/type": { values: ["relu", "tanh"] }, "/optimizer/lr": { log_uniform: [0.001, 1] } },
    job: { data: { generator: "disc", rows: 200, validation: 0.2 }, model: { layers: [{ type: "linear" }, {}, { type: "linear", out_features: 2 }] }, loss: "cross_entropy", epochs: 5 },
  });
  const inside = await trained(url, { name: "inside", data: { generator: "disc", rows: 500 }, model: { layers: [...dense(16, 8), { type: "linear", out_features: 1 }] }, loss: "bce_with_logits", batch_size: 25, epochs: 300, report: { layers: true } });
  const { id: rate } = await ask(url, "POST", "/v1/jobs?find=lr", { name: "rate", data: { generator: "disc", rows: 500, standardize: ["x"] }, model: { layers: [...dense(16), { type: "linear", out_features: 1 }] }, loss: "bce_with_logits", batch_size: 25, epochs: 30 });
  await ended(url, rate);
  const paused = (await ask(url, "POST", "/v1/jobs", xor({ name: "paused", ...checkpointed }))).id;
  await reaches(url, paused, "running");
  await ask(url, "POST", `/v1/jobs/${paused}/pause`);
  await reaches(url, paused, "paused");
  const running = (await ask(url, "POST", "/v1/jobs", xor({ name: "long", ...endless }))).id;
  await ask(url, "POST", "/v1/jobs", xor({ name: "waiting", priority: 10 }));
  return { pictures, series, people, classes, failed, first, other, houses, sweep, study, paused, running, inside, rate };
}

const i = (a, b) => (a * 13 + b * 5) % 11;

run(async ({ url, open, shots }) => {
  const jobs = await fill(url);
  const views = {
    jobs: ["#/jobs", ".jobs-table tbody tr, tbody tr"],
    "jobs-grouped": ["#/jobs?group=dataset", ".jobs-table .group"],
    job: [`#/jobs/${jobs.houses}`, ".plot canvas"],
    "job-classifier": [`#/jobs/${jobs.first}`, ".plot canvas"],
    "job-layers": [`#/jobs/${jobs.inside}`, ".histograms"],
    "job-rate": [`#/jobs/${jobs.rate}`, "section[aria-labelledby=found-title] .plot canvas"],
    "job-running": [`#/jobs/${jobs.running}`, ".badge[data-state=running]"],
    "job-paused": [`#/jobs/${jobs.paused}`, "tr[data-step] button"],
    datasets: ["#/datasets", ".datasets-table tbody tr"],
    dataset: ["#/datasets/people", ".columns-table tbody tr"],
    "dataset-pairs": ["#/datasets/squares", ".pairs canvas"],
    "job-words": [`#/jobs/${jobs.people}`, "#predict select"],
    "job-failed": [`#/jobs/${jobs.failed}`, ".badge[data-state=failed]"],
    "job-classes": [`#/jobs/${jobs.classes}`, ".confusion-scroll"],
    "job-publish": [`#/jobs/${jobs.people}`, "#predict select", async (page) => {
      await page.getByRole("button", { name: "Publish" }).click();
      await page.getByLabel("A row’s class is decided by").selectOption("cost");
    }],
    models: ["#/models", ".models-table tbody tr"],
    model: ["#/models/people", ".versions tbody tr", async (page) => {
      await page.getByText("Reading options").click();
      await page.getByRole("button", { name: "Predict", exact: true }).click();
      await page.locator(".predict-answer strong").waitFor();
    }],
    "model-pictures": ["#/models/pictures", "#predict-picture"],
    sweeps: ["#/sweeps", ".sweeps-table tbody tr"],
    sweep: [`#/sweeps/${jobs.sweep}`, ".parameter canvas"],
    submit: ["#/submit?example=xor", "#json"],
    "submit-sweep": ["#/submit?example=sweep", ".check-state[data-state=good]"],
    compare: [`#/compare?jobs=${jobs.first},${jobs.other}&base=${jobs.first}`, ".better, .worse"],
    "compare-empty": ["#/compare", ".picker tbody tr"],
    studies: ["#/studies", "tbody tr"],
    study: [`#/studies/${jobs.study}`, ".heat tbody tr"],
    devices: ["#/devices", "tbody tr"],
    "jobs-picked": ["#/jobs?q=xor", ".jobs-table tbody tr", async (page) => {
      await page.getByRole("checkbox", { name: "Select all shown" }).check();
      await page.getByRole("button", { name: /^Delete/ }).click();
      await page.getByRole("dialog").waitFor();
    }],
    "job-pictures": [`#/jobs/${jobs.pictures}`, "#predict-picture"],
    "job-series": [`#/jobs/${jobs.series}`, "#predict-steps", async (page) => {
      await page.getByRole("button", { name: "Forecast" }).click();
      await page.locator(".predict-answer canvas").waitFor();
    }],
    "dataset-series": ["#/datasets/power", "#target", (page) => page.locator("#target").selectOption({ label: "power" })],
    "datasets-options": ["#/datasets", ".datasets-table tbody tr", (page) => page.getByText("Reading options").click()],
    "submit-series": ["#/submit?dataset=power&target=power&time=hour", "#f-data-window-length", async (page) => {
      await page.getByText("Pictures", { exact: true }).click();
      await page.getByText("Advanced", { exact: true }).click();
      await page.getByLabel("Schedule").selectOption("one_cycle");
      await page.getByLabel("Validation share").fill("0.2");
      await page.getByLabel("Stop early after").fill("20");
    }],
    nowhere: ["#/nowhere", "h1"],
  };
  let count = 0;
  const faults = [];
  for (const width of [1280, 360]) {
    const page = await open({ width, height: width === 360 ? 740 : 900 });
    for (const [name, [hash, present, act]] of Object.entries(views)) {
      const where = `${name}, ${width} px`;
      await themeSet(page, "light");
      await page.goto(`/${hash}`);
      await page.locator(present).first().waitFor().catch(() => faults.push(`${where}: there is no ${present}`));
      await act?.(page);
      await drawn(page);
      const cut = await page.locator(".nav a").evaluateAll((links) => links.filter((link) => link.getBoundingClientRect().right > innerWidth).map((link) => link.textContent));
      if (cut.length) faults.push(`${where}: the navigation is cut before ${cut}`);
      const beyond = await page.locator("dialog").evaluateAll((dialogs) => dialogs.flatMap((dialog) => [...dialog.querySelectorAll("*")].filter((node) => node.getBoundingClientRect().right > dialog.getBoundingClientRect().right - parseFloat(getComputedStyle(dialog).paddingRight) + 1).map((node) => node.textContent)));
      if (beyond.length) faults.push(`${where}: beyond the dialog's padding: ${beyond}`);
      const over = await overhang(page);
      if (over > 0) faults.push(`${where} hangs ${over} px over the edge`);
      for (const theme of ["dark", "light"]) { // all rules come last, when late panels are there
        await themeSet(page, theme);
        if (process.env.EPOCHD_SCREENSHOTS) await page.screenshot({ path: `${shots}/${name}-${theme}-${width}.png`, fullPage: true });
        count++;
        for (const { id, help, nodes } of await accessibilityFaults(page, "html", theme === "dark" ? colours : {}))
          faults.push(`${where}, ${theme}: ${id} (${help}): ${nodes.slice(0, 4).join(" | ")}`);
      }
      for (const fault of page.faults.splice(0)) faults.push(`${where}: ${fault}`);
    }
    await page.close();
  }
  console.log(`${count} looks`);
  for (const fault of faults) console.log(`fault: ${fault}`);
  // The check can fail: grey on white is serious.
  const page = await open();
  await page.goto("/#/devices");
  await page.locator("tbody tr").first().waitFor();
  await page.evaluate(() => {
    const text = document.querySelector("h1");
    text.style.color = "#ccc";
    text.style.background = "#fff";
  });
  check((await accessibilityFaults(page)).some(({ id }) => id === "color-contrast"), "axe-core finds nothing in pale grey on white");
  check(faults.length === 0, `${faults.length} faults`);
  console.log("ok: no fault of accessibility, nothing over the edge");
});
