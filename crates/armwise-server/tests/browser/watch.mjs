// A browser that remembers what must not happen: errors in the console, and requests to another host.

import { mkdirSync } from "node:fs";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

/** How long something may take on a busy machine before it counts as missing, in milliseconds. */
export const PATIENCE = 120_000;

const shots = process.env.ARMWISE_SHOTS ?? "target/browser/shots";
mkdirSync(shots, { recursive: true });

export async function browse() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-default-apps",
      "--disable-sync",
      "--no-first-run",
      "--disable-gpu",
    ],
  });
}

/** A context whose pages are watched. */
export async function context(browser, url, options = {}) {
  const { allowed = [], ...rest } = options;
  const made = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...rest });
  made.setDefaultTimeout(PATIENCE);
  const faults = [];
  made.on("request", (request) => {
    if (!request.url().startsWith(url)) faults.push(`a request to ${request.url()}`);
  });
  made.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    if (!allowed.some((word) => message.text().includes(word))) faults.push(`the console says: ${message.text()}`);
  });
  made.on("weberror", (error) => faults.push(`an error in the page: ${error.error()}`));
  made.on("requestfailed", (request) => {
    // A page that is left ends what it was still reading: its stream of events, or its own last bytes.
    const why = request.failure()?.errorText;
    if (why !== "net::ERR_ABORTED") faults.push(`${request.url()} failed: ${why}`);
  });
  return { context: made, page: await made.newPage(), check: () => assert.deepEqual(faults, []) };
}

/** A picture of the whole page, or of what is seen first. */
export async function shoot(page, name, fullPage = true) {
  await page.screenshot({ path: `${shots}/${name}.png`, fullPage });
}

/** Nothing sticks out to the right. */
export async function fits(page) {
  const { wide, room } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    room: document.documentElement.clientWidth,
  }));
  assert.ok(wide <= room, `${page.url()} is ${wide} wide in ${room}`);
}

/** Keeps the pages of a context as they are loaded: their stream of events ends at once and is not begun again. */
export async function still(made) {
  await made.route("**/events", (route) =>
    route.fulfill({ status: 200, contentType: "text/event-stream", body: "retry: 100000000\n\n" }),
  );
}

/** Waits until a card shows a number of which `from` <= number <= `to`; the page is followed meanwhile. */
export async function shows(page, name, from, to = Infinity) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const now = await card(page, name);
    if (from <= now && now <= to) return now;
    assert.ok(Date.now() < end, `${name} stays ${now}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** The number that a card shows. */
export async function card(page, name) {
  const text = await page.locator(`.cards div:has(dt:text-is("${name}")) dd`).first().innerText();
  return Number(text.split("\n")[0].replaceAll(",", ""));
}
