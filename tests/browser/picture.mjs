// picture.mjs URL SWEEP FILE.png THEME: the charts of a study, as they are on its page, twice as fine.

import { chromium } from "playwright-core";
import { pictureTake } from "./page.mjs";

const [url, sweep, path, theme] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.EPOCHD_CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
try {
  const page = await browser.newPage({ baseURL: url, colorScheme: theme, viewport: { width: 1100, height: 900 }, deviceScaleFactor: 2 });
  await page.goto(`/#/studies/${encodeURIComponent(sweep)}`);
  await pictureTake(page, path);
  console.log(path);
} catch (error) {
  console.error(`there is no picture: ${error.message}`);
  process.exitCode = 1;
}
await browser.close();
