// The page below a path: behind a proxy that takes the path away, which knows what was asked beside it, and by --base-path.

import { createServer, request } from "node:http";
import { ask, check, ended, run, xor } from "./page.mjs";

const prefix = "/tools/epochd";

// strips: whether the path is taken away. The daemon is asked under its own name, as by most proxies unless they are told.
async function proxy(url, strips) {
  const outside = [];
  const server = createServer((from, to) => {
    if (!from.url.startsWith(`${prefix}/`)) {
      outside.push(`${from.method} ${from.url}`);
      to.writeHead(404).end();
      return;
    }
    const path = strips ? from.url.slice(prefix.length) : from.url;
    const passed = request(new URL(path, url), { method: from.method, headers: { ...from.headers, host: new URL(url).host } }, (answer) => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
    });
    passed.on("error", () => to.destroy());
    to.on("close", () => passed.destroy());
    from.pipe(passed);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { outside, at: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

async function look({ url, open, strips }) {
  const between = await proxy(url, strips);
  const page = await open({ url: between.at });
  const { id } = await ask(url, "POST", "/v1/jobs", xor({ name: "below", epochs: 20000, report_every: 1000 }));
  await page.goto(`${prefix}/`);
  await page.getByRole("link", { name: "below" }).first().click();
  await page.locator(".events li[data-type=end]").waitFor(); // a stream
  await page.locator(".plot canvas").waitFor(); // uPlot, and its style
  check(await page.evaluate(() => [...document.styleSheets].some(({ href }) => href?.endsWith("/assets/uplot.css"))), "the charts have no style");
  await ended(url, id);

  await page.goto(`${prefix}/#/datasets`);
  await page.setInputFiles("#upload-file", { name: "below.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n3,4\n5,6\n") });
  await page.getByRole("button", { name: "Upload" }).click();
  await page.waitForURL(/#\/datasets\/below$/);
  await page.getByRole("heading", { name: "below" }).waitFor();
  await page.goto(`${prefix}/#/devices`); // before the dataset is gone
  await page.getByRole("heading", { name: "Devices" }).first().waitFor();
  await ask(url, "DELETE", "/v1/datasets/below");

  await page.goto(`${prefix}/#/submit?example=xor`);
  await page.getByText(`curl ${between.at}${prefix}/v1/jobs `).waitFor();
  for (const view of ["sweeps", "compare", "studies", "devices"]) {
    await page.goto(`${prefix}/#/${view}`);
    await page.locator("h1").waitFor();
  }
  await page.context().close();
  between.close();
  check(between.outside.length === 0, `asked beside the path: ${between.outside}`);
}

run(async ({ url, open }) => {
  await look({ url, open, strips: true });
  console.log("ok: behind a proxy that strips the path the page lists, streams, uploads, and asks for nothing beside it");
  await look({ url, open, strips: false });
  console.log("ok: so with --base-path behind one that does not");
});
