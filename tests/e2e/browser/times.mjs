// Milliseconds to the first paint, and until a large session stands there: node times.mjs ADDRESS HANDLE.
import { chromium } from "playwright-core";

const [address, handle] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.TEST_CHROMIUM, args: ["--no-sandbox"] });
const paints = [], sessions = [];
for (let round = 0; round < 5; round += 1) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  await page.goto(address);
  await page.waitForFunction(() => document.body.dataset.ready);
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
  paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
  sessions.push(await page.evaluate(async (to) => {
    const begin = performance.now(), before = document.body.dataset.ready;
    location.hash = to;
    while (document.body.dataset.ready === before) await new Promise(requestAnimationFrame);
    return performance.now() - begin;
  }, `#/s/${handle}`));
  await page.close();
}
await browser.close();
const median = (all) => Math.round(all.sort((one, other) => one - other)[2]);
console.log(`first paint ${median(paints)} ms, the session ${median(sessions)} ms (medians of five)`);
