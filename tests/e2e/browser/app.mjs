// The page as an MCP App in the Inspector's web client, in a real Chromium: node app.mjs INSPECTOR TOKEN SERVER ARGUMENTS [PICTURE].
// Prints as one line of JSON what the frame shows after the tool was called; the test judges it.
import { chromium } from "playwright-core";

const [inspector, token, server, given, picture] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.TEST_CHROMIUM, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
const asked = new URLSearchParams({ serverUrl: server, transport: "http", autoConnect: token, openApp: "check_context_ratio", appArgs: Buffer.from(given).toString("base64url"), autoOpen: token });
await page.goto(`${inspector}/?${asked}`);
await page.waitForSelector('[data-app-status="ready"]', { timeout: 60_000 });

async function app() {
  for (let tries = 0; tries < 300; tries += 1) {
    for (const frame of page.frames()) if (await frame.locator("#stored[data-from=host]").count().catch(() => 0)) return frame;
    await page.waitForTimeout(100);
  }
  throw new Error("no frame has the page");
}
const frame = await app();
await frame.waitForSelector(".list .line", { timeout: 60_000 });
const seen = { text: await frame.locator("main").innerText(), buttons: await frame.getByRole("button", { name: /Undo/ }).count() };
await frame.locator(".list .line").nth(2).click();
await frame.waitForSelector(".pair .pane", { timeout: 60_000 });
seen.original = await frame.getByRole("region", { name: "Text of the original" }).innerText();
seen.changes = await frame.getByRole("button", { name: /^(Restore|Put the batch back|Pin)$/ }).count();
if (picture) await page.screenshot({ path: picture });
await browser.close();
console.log(JSON.stringify(seen));
