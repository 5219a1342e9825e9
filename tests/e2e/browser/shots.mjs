// Takes the pictures of the docs from a running page: node shots.mjs ADDRESS HANDLE ITEM FOLDER (docs/make_pictures.py).
import { chromium } from "playwright-core";

const [address, handle, item, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.TEST_CHROMIUM, args: ["--no-sandbox"] });
for (const colorScheme of ["light", "dark"]) {
  const page = await browser.newPage({ viewport: { width: 1180, height: 760 }, colorScheme });
  for (const [name, hash] of [["session", `#/s/${handle}`], ["item", `#/s/${handle}/item/${item}`]]) {
    await page.goto("about:blank");
    await page.goto(address + hash);
    await page.waitForFunction(() => document.body.dataset.ready);
    if (name === "session") await page.waitForSelector(".list .line");
    await page.screenshot({ path: `${folder}/view-${name}-${colorScheme}.png` });
  }
}
await browser.close();
