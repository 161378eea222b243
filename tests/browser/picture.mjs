// picture.mjs URL SWEEP|JOB FILE.png THEME: the charts of a study, as they are on its page, twice as fine; or the top of a
// job's page.

import { chromium } from "playwright-core";
import { drawn, pictureTake } from "./page.mjs";

const [url, id, path, theme] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.EPOCHD_CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
try {
  const job = id.startsWith("job_");
  const page = await browser.newPage({ baseURL: url, colorScheme: theme, viewport: { width: 1100, height: 900 }, deviceScaleFactor: job ? 1 : 2 });
  await page.goto(`/#/${job ? "jobs" : "studies"}/${encodeURIComponent(id)}`);
  if (job) {
    await page.locator("canvas").first().waitFor();
    await drawn(page);
    await page.screenshot({ path });
  } else {
    await pictureTake(page, path);
  }
  console.log(path);
} catch (error) {
  console.error(`there is no picture: ${error.message}`);
  process.exitCode = 1;
}
await browser.close();
