// Drives the page in a real Chromium: node drive.mjs ADDRESS HANDLE WORD, with the packages of package.json beside it.
// Prints what it saw as one line of JSON; the test judges it.
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [address, handle, word] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: process.env.TEST_CHROMIUM, args: ["--no-sandbox"] });
const seen = { faults: [], errors: [], asked: [], clicks: 0, figures: {} };

async function open(colorScheme, width = 1280) {
  // axe-core is put into the page, which the page's own policy forbids to anybody else.
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
  const page = await context.newPage();
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (line) => line.type() === "error" && seen.errors.push(line.text()));
  page.on("request", (request) => seen.asked.push(new URL(request.url()).origin));
  return page;
}
async function ready(page, act) {
  const before = await page.evaluate(() => document.body.dataset.ready);
  await act();
  await page.waitForFunction((old) => document.body.dataset.ready !== old, before);
}
async function click(page, place) {
  seen.clicks += 1;
  await place.click();
}
async function faults(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const one of found.violations) if (["serious", "critical"].includes(one.impact)) seen.faults.push(`${where}: ${one.id}: ${one.nodes[0].html.slice(0, 160)}`);
}
async function wide(page, width) {
  if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) seen.faults.push(`wider than ${width}`);
}
const figures = (page) => page.$$eval("dd[data-path]", (all) => all.map((one) => [one.dataset.command, one.dataset.path, one.dataset.value]));
const go = (page, hash) => ready(page, () => page.evaluate((to) => { location.hash = to; }, hash));

const page = await open("light");
await page.goto(address);
await page.waitForFunction(() => document.body.dataset.ready);
seen.firstPaintMs = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
seen.sessions = await page.locator("tbody tr").count();
seen.figures.store = await figures(page);
await faults(page, "sessions");

// Find a value that was dropped, see it beside its digest, and get it back.
await page.keyboard.press("/");
await page.keyboard.type(word);
await ready(page, () => page.keyboard.press("Enter"));
await faults(page, "search");
await ready(page, () => click(page, page.locator(".hit a").first()));
seen.original = await page.getByRole("region", { name: "Text of the original" }).innerText();
seen.digest = await page.getByRole("region", { name: "Text of the digest" }).innerText();
seen.quoted = await page.locator(".pair .pane:first-child .l.q").count();
await click(page, page.locator(".pair .pane.to .l.q").first());
seen.lit = await page.locator(".pair .pane:first-child .l.lit").count();
await faults(page, "item");
await click(page, page.getByRole("button", { name: "Restore", exact: true }));
await page.waitForSelector("#exact");
seen.exact = await page.locator("#exact .l span").allTextContents();
seen.sha256 = await page.locator("#sha").innerText();

// Take the pass back.
await go(page, `#/s/${handle}`);
await page.waitForSelector(".list .line");
seen.figures.session = await figures(page);
await faults(page, "session");
await page.locator(".list").focus();
await page.keyboard.press("End");
seen.atEnd = await page.locator(".list .line[aria-selected=true]").getAttribute("aria-posinset");
await click(page, page.getByRole("button", { name: "Undo pass 1" }));
await ready(page, () => click(page, page.getByRole("button", { name: "Take it back" })));
seen.state = await page.locator("tbody tr .tag").first().innerText();

// What was learned, with its evidence, and what is handed on.
await go(page, "#/experience");
await page.getByRole("button", { name: /^Show the evidence of/ }).click();
await page.waitForSelector("tbody [title^=e]");
seen.evidence = await page.locator("tbody [title^=e]").count();
await faults(page, "experience");
await go(page, "#/handoffs");
await page.locator("summary").first().click();
seen.handoff = await page.locator("main").innerText();
await faults(page, "handoffs");

// The same in the dark, and on a telephone.
for (const width of [1280, 390]) {
  const dark = await open("dark", width);
  await dark.goto(`${address}#/s/${handle}`);
  await dark.waitForSelector(".list .line");
  await faults(dark, `session, dark, ${width}`);
  await wide(dark, width);
  await dark.keyboard.press("/");
  await dark.keyboard.type(word);
  await ready(dark, () => dark.keyboard.press("Enter"));
  await ready(dark, () => dark.locator(".hit a").first().click());
  await faults(dark, `item, dark, ${width}`);
  await wide(dark, width);
}
await browser.close(); // until then the page may still ask
seen.asked = [...new Set(seen.asked)];
console.log(JSON.stringify(seen));
