// The dashboard in a real browser: every page renders with data, follows what happens, can be used without a mouse, fits a telephone,
// loads nothing from elsewhere, and shows names that try to be more than names.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PATIENCE, browse, card, context, fits, shoot, shows, still } from "./watch.mjs";
import { ask, folder, ready, run, start, stopAll } from "./server.mjs";

let browser;
let demo;

before(async () => {
  demo = await start("demo", "--no-open", "--for", "3600", "--data", folder(), "--rate", "10");
  browser = await browse();
});

after(async () => {
  await browser?.close();
  stopAll();
});

const PAGES = ["/", "/campaigns/shop", "/campaigns/letters", "/operator", "/tokens"];

test("every page renders with data, and nothing is inline", async () => {
  const { page, check, context: made } = await context(browser, demo.url);
  for (const path of PAGES) {
    const answer = await page.goto(demo.url + path);
    assert.equal(answer.status(), 200, path);
    const policy = answer.headers()["content-security-policy"];
    assert.ok(policy.includes("default-src 'none'") && !policy.includes("unsafe"), policy);
    assert.ok((await page.locator("h1").innerText()).length > 2);
    const inline = await page.evaluate(() => document.querySelectorAll("[style],style,script:not([src])").length);
    assert.equal(inline, 0, `${path} has inline styles or scripts`);
  }
  await page.goto(demo.url);
  assert.equal(await page.locator(".tile").count(), 2);
  await shows(page, "Decisions", 1);
  await page.goto(`${demo.url}/campaigns/shop`);
  // Calibration and mean rewards come with the first windows that end, ten seconds after the first decisions.
  await page.locator("#calibration").waitFor();
  await shows(page, "Decisions", 150);
  for (const id of ["reward", "rows", "exploration", "probabilities", "calibration", "effects"]) {
    assert.equal(await page.locator(`#${id}`).count(), 1, id);
  }
  assert.ok((await page.locator("#reward svg.wide rect").count()) >= 2, "bars of the reward");
  assert.ok((await page.locator("#effects tbody tr").count()) >= 10, "effects in the user's words");
  await shoot(page, "dashboard", false);
  await shoot(page, "shop-wide");
  await page.goto(`${demo.url}/campaigns/letters`);
  for (const id of ["uplift", "promotions", "promotion-rewards", "segments"]) {
    assert.equal(await page.locator(`#${id}`).count(), 1, id);
  }
  await shoot(page, "letters-wide");
  await page.goto(`${demo.url}/operator`);
  assert.ok((await page.locator("#latency tbody tr").count()) >= 3, "routes with their quantiles");
  assert.ok((await page.locator("#queues tbody tr").count()) === 2);
  await shoot(page, "operator-wide");
  check();
  await made.close();
});

test("behind each chart there is a table, and a mark says its number", async () => {
  const { page, check, context: made } = await context(browser, demo.url);
  // A bar that is replaced under the pointer would say another number than its tip.
  await still(made);
  await page.goto(`${demo.url}/campaigns/shop`);
  const without = await page.evaluate(() =>
    [...document.querySelectorAll(".panel")]
      .filter((panel) => panel.querySelector(":scope > svg.chart") && !panel.querySelector("details table tbody tr"))
      .map((panel) => panel.id),
  );
  assert.deepEqual(without, []);
  const tip = page.locator(".tip");
  await page.locator("#reward svg.wide").scrollIntoViewIfNeeded();
  // A page that still scrolls hides the tip again, so the pointer comes until it stays. A bar may have no height, or be
  // behind another mark: one is taken that the pointer meets.
  let title;
  for (const end = Date.now() + PATIENCE; !(await tip.isVisible()); ) {
    assert.ok(Date.now() < end, "no tip comes");
    const found = await page.evaluate(() => {
      for (const bar of document.querySelectorAll("#reward svg.wide rect:has(> title)")) {
        const { left, top, width, height } = bar.getBoundingClientRect();
        const [x, y] = [left + width / 2, top + height / 2];
        if (document.elementFromPoint(x, y) === bar) return { x, y, title: bar.querySelector("title").textContent };
      }
      return null;
    });
    assert.ok(found, "no bar can be met");
    title = found.title;
    await page.mouse.move(1, 1);
    await page.mouse.move(found.x, found.y);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  assert.equal(await tip.innerText(), title);
  check();
  await made.close();
});

test("a page follows what happens without being loaded again", async () => {
  const { page, check, context: made } = await context(browser, demo.url);
  await page.goto(`${demo.url}/campaigns/shop`);
  await page.evaluate(() => (window.same = true));
  await page.locator("#live.on").waitFor();
  await page.locator("#reward summary").click();
  const before = await card(page, "Decisions");
  await page.waitForFunction(
    ([dt, before]) => {
      const all = [...document.querySelectorAll(".cards div")].find((one) => one.querySelector("dt").textContent === dt);
      return Number(all.querySelector("dd").textContent.replaceAll(",", "")) > before + 5;
    },
    ["Decisions", before],
    { timeout: PATIENCE },
  );
  assert.ok((await card(page, "Decisions")) > before);
  assert.ok(await page.evaluate(() => window.same), "the page was loaded again");
  assert.ok(await page.locator("#reward details").evaluate((details) => details.open), "what was open stays open");
  check();
  await made.close();
});

test("why is found by item and by decision, with the keyboard", async () => {
  const { page, check, context: made } = await context(browser, demo.url, { allowed: ["404"] });
  await page.goto(`${demo.url}/campaigns/shop`);
  const item = await page.locator("#rows details tbody th").first().textContent();
  await page.locator("#q").focus();
  await page.keyboard.type(item);
  await page.keyboard.press("Enter");
  await page.waitForURL(/why\?q=/);
  assert.ok((await page.locator("h1").innerText()).includes(item));
  assert.ok((await page.locator("#why svg.wide rect").count()) >= 1, "what each feature adds");
  assert.ok((await page.locator("#why").innerText()).includes("Chosen, rank"));
  await shoot(page, "why-wide");
  const decision = await page.locator("main code").first().innerText();
  await page.locator("#q").fill(decision);
  await page.locator("#q").press("Enter");
  await page.waitForURL(new RegExp(decision));
  assert.equal(await page.locator("#arms tbody tr").count(), 4);
  await page.goto(`${demo.url}/campaigns/shop/why?q=nobody`);
  assert.ok((await page.locator("main .said").innerText()).length > 5);
  check();
  await made.close();
});

test("dark is dark", async () => {
  const { page, check, context: made } = await context(browser, demo.url, { colorScheme: "dark" });
  for (const path of PAGES.slice(0, 4)) {
    await page.goto(demo.url + path);
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(ground, "rgb(22, 21, 20)");
    await shoot(page, `dark${path.replaceAll("/", "-")}`);
  }
  check();
  await made.close();
});

test("a telephone shows every page without scrolling sideways", async () => {
  const options = { viewport: { width: 375, height: 740 }, deviceScaleFactor: 2, hasTouch: true };
  const { page, check, context: made } = await context(browser, demo.url, options);
  for (const path of PAGES) {
    await page.goto(demo.url + path);
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    await fits(page);
    await shoot(page, `phone${path.replaceAll("/", "-")}`);
  }
  await page.goto(`${demo.url}/campaigns/shop`);
  const item = await page.locator("#rows details tbody th").first().textContent();
  await page.goto(`${demo.url}/campaigns/shop/why?q=${encodeURIComponent(item)}`);
  await fits(page);
  await shoot(page, "phone-why");
  check();
  await made.close();
});

test("the keyboard reaches everything that can be used, and one sees where it is", async () => {
  const { page, check, context: made } = await context(browser, demo.url);
  // Places are counted, so none may come or go meanwhile.
  await still(made);
  for (const path of ["/", "/campaigns/shop", "/operator"]) {
    await page.goto(demo.url + path);
    const look = () =>
      page.evaluate(() => {
        const usable = "a[href],button:not(:disabled),input,summary,.scroll[tabindex]";
        const shown = [...document.querySelectorAll(usable)].filter((one) => one.checkVisibility());
        const style = getComputedStyle(document.activeElement);
        const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
        return { all: shown.length, place: shown.indexOf(document.activeElement), outline };
      });
    const { all } = await look();
    const reached = new Set();
    for (let step = 0; step < 2 * all && reached.size < all; step += 1) {
      await page.keyboard.press("Tab");
      const { place, outline } = await look();
      if (place < 0) continue;
      assert.ok(outline, `${path}: no outline at element ${place}`);
      reached.add(place);
    }
    assert.equal(reached.size, all, `${path}: ${reached.size} of ${all} are reached`);
  }
  await page.goto(demo.url);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  check();
  await made.close();
});

test("names that try to be more are shown, not run", async () => {
  const names = ["<script>window.owned=1</script>", "\"><img src=x onerror=window.owned=1>", "\u202eevil", "מבצע אביב", "𝒜😀👩\u200d👧", "a & b's \"c\""];
  const hostile = { promotion: names.slice(0, 2).map((name) => ({ name, quota: { max: 2 } })), dim: 2, segment: "where", seed: 3 };
  await ask(demo.url, "PUT", "/v1/campaigns/hostile", hostile);
  const arms = names.map((id, at) => ({ id, where: names[at], features: [1, at / 10] }));
  for (let round = 0; round < 3; round += 1) {
    const decided = await ask(demo.url, "POST", "/v1/campaigns/hostile/decisions", { arms });
    const rewards = decided.arms.map(({ id, promotion }) => ({ id, promotion, reward: 1 }));
    await ask(demo.url, "PUT", `/v1/campaigns/hostile/decisions/${decided.decision}/rewards`, { rewards });
  }
  const { page, check, context: made } = await context(browser, demo.url);
  await page.goto(`${demo.url}/campaigns/hostile`);
  const text = await page.locator("main").textContent();
  assert.ok(text.includes(names[0]) && text.includes(names[1]), "the names of promotions are shown");
  assert.ok(!text.includes("\u202e"), "no code turns the text around it");
  await fits(page);
  for (const name of names) {
    await page.goto(`${demo.url}/campaigns/hostile/why?q=${encodeURIComponent(name)}`);
    const head = await page.locator("h1").textContent();
    assert.ok(head.includes(name.replace("\u202e", "\ufffd")), head);
    assert.equal(await page.evaluate(() => window.owned), undefined);
    assert.equal(await page.locator("main script, main img").count(), 0);
  }
  await shoot(page, "hostile");
  check();
  await made.close();
});

test("actions need an admin token, and say what they will do", async () => {
  const data = folder();
  const admin = run("token", "add", "boss", "--scope", "admin", "--data", data).trim();
  const reader = run("token", "add", "eyes", "--scope", "read", "--data", data).trim();
  const served = await start("serve", "--data", data, "--listen", "127.0.0.1:0", "--quiet");
  await ready(served.url);
  await ask(served.url, "PUT", "/v1/campaigns/spring", { dim: 2 }, admin);
  const arms = [1, 2, 3].map((at) => ({ id: `a${at}`, features: [1, at] }));
  const first = await ask(served.url, "POST", "/v1/campaigns/spring/decisions", { arms, k: 2 }, admin);
  const second = await ask(served.url, "POST", "/v1/campaigns/spring/decisions", { arms, k: 2 }, admin);

  const { page, check, context: made } = await context(browser, served.url, { allowed: ["401"] });
  assert.equal((await page.goto(`${served.url}/campaigns/spring`)).status(), 401);
  await page.locator("#token").fill("armwise_nonsense");
  await page.keyboard.press("Enter");
  await page.locator(".said").waitFor();
  await page.locator("#token").fill(reader);
  await page.keyboard.press("Enter");
  await page.locator(".tile").waitFor();
  await page.goto(`${served.url}/campaigns/spring`);
  assert.equal(await page.locator("[data-opens]").count(), 0, "a reader is offered no action");
  await page.locator("text=Sign out").click();
  await page.locator("#token").fill(admin);
  await page.keyboard.press("Enter");
  await page.locator(".tile").waitFor();

  await page.goto(`${served.url}/campaigns/spring/why?q=${first.decision}`);
  await page.locator("[data-opens=revoke]").click();
  assert.ok((await page.locator("dialog[open]").innerText()).includes("as if it had never been shown"));
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog[open]").count(), 0, "Escape cancels");
  await page.locator("[data-opens=revoke]").click();
  await shoot(page, "confirm");
  await page.locator("dialog[open] button.strong").click();
  await page.locator("dialog[open]").waitFor({ state: "hidden" });
  await page.reload();
  await page.locator(".state", { hasText: "revoked" }).waitFor();
  assert.equal(await page.locator("[data-opens]").count(), 0, "nothing is done to it twice");

  await page.goto(`${served.url}/campaigns/spring/why?q=${second.decision}`);
  await page.locator("[data-opens=close]").click();
  const said = await page.locator("dialog[open]").innerText();
  assert.ok(said.includes("2 of its 2 arms") && said.includes("cannot be undone"), said);
  await page.locator("dialog[open] button.strong").click();
  await page.locator("dialog[open]").waitFor({ state: "hidden" });
  await page.reload();
  await page.locator(".state", { hasText: "closed" }).waitFor();
  await page.goto(`${served.url}/campaigns/spring`);
  // The page may be a moment old; it follows.
  await shows(page, "May still answer", 0, 0);

  const third = await ask(served.url, "POST", "/v1/campaigns/spring/decisions", { arms, k: 2 }, admin);
  await ask(served.url, "POST", "/v1/campaigns/spring/decisions", { arms, k: 2 }, admin);
  await shows(page, "May still answer", 4, 4);
  await page.locator("[data-opens=close-range]").click();
  assert.ok((await page.locator("dialog[open]").innerText()).includes("all before it"));
  await page.locator("#close-through").fill(third.decision);
  await shoot(page, "close-range");
  await page.locator("dialog[open] button.strong").click();
  await page.locator("dialog[open]").waitFor({ state: "hidden" });
  await shows(page, "May still answer", 2, 2);

  await page.goto(`${served.url}/tokens`);
  await page.locator("[data-opens=add-token]").click();
  await page.locator("#token-name").fill("new");
  await page.locator("dialog[open] button.strong").click();
  const shown = await page.locator("dialog[open] .said").filter({ hasText: "armwise_" }).innerText();
  const secret = shown.match(/armwise_[0-9a-f]+/)[0];
  await ask(served.url, "GET", "/v1/campaigns", undefined, secret);
  await page.reload();
  const row = page.locator("tr").filter({ has: page.locator("th", { hasText: /^new$/ }) });
  await row.locator("[data-opens]").click();
  await shoot(page, "tokens");
  await page.locator("dialog[open] button.strong").click();
  await page.waitForFunction(
    () => ![...document.querySelectorAll("tbody th")].some((one) => one.textContent === "new"),
    undefined,
    { timeout: PATIENCE },
  );
  await assert.rejects(ask(served.url, "GET", "/v1/campaigns", undefined, secret), /401/);
  check();
  await made.close();
  served.child.kill("SIGTERM");
});
