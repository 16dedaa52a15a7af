// The HTML report in headless Chromium, from the disk: what a reader sees and does with it.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { settle } from "./browser.mjs";
import { coloursOf, file, middleOfTimeline, pictureOf, rangeOf, widthOf, withPage } from "./pages.mjs";

for (const colorScheme of ["light", "dark"]) {
  test(`draws bars, timeline, steps and tables in ${colorScheme}`, () =>
    withPage("sample.html", { colorScheme }, async (page) => {
      assert.ok((await page.locator(".bars .row.process").count()) === 3);
      assert.ok((await page.locator(".bars .bar rect").count()) > 30);
      assert.ok((await coloursOf(page, "#timeline canvas.rows", 200)) > 8);
      assert.ok((await coloursOf(page, "canvas.overview", 200)) > 3);
      assert.ok((await coloursOf(page, "canvas.steps")) > 4);
      assert.ok((await page.locator("#table-functions tbody tr").count()) === 60);
      const back = await page.$eval("body", (body) => getComputedStyle(body).backgroundColor);
      const bright = Number(/\d+/.exec(back)[0]) > 128;
      assert.equal(bright, colorScheme === "light");
    }));
}

test("says what is missing before anything else", () =>
  withPage("sample.html", {}, async (page) => {
    const gaps = await page.locator(".gaps").boundingBox();
    const headline = await page.locator(".headline").boundingBox();
    assert.ok(gaps.y < headline.y);
    assert.match(await page.locator(".gaps").innerText(), /1,204 events were dropped/);
    assert.match(await page.locator(".headline").innerText(), /took 2\.1 % \u00b1 0\.6 % of each step/);
  }));

test("Ctrl and the wheel zoom at the pointer; the plain wheel is the page's", () =>
  withPage("sample.html", {}, async (page) => {
    const { x, y, box } = await middleOfTimeline(page);
    await page.mouse.click(x, y);
    await page.keyboard.press("Escape");
    const [begin, end] = await rangeOf(page);
    // The rows scroll first where they are more than fit.
    const scrolled = () => page.evaluate(() =>
      window.scrollY + document.querySelector("#timeline .pane").scrollTop);
    const at = await scrolled();
    await page.mouse.wheel(0, 40);
    await page.waitForFunction((before) =>
      window.scrollY + document.querySelector("#timeline .pane").scrollTop > before, at);
    assert.deepEqual(await rangeOf(page), [begin, end], "even when the timeline has the focus");
    const picture = await pictureOf(page, "#timeline canvas.rows");
    const part = (x - box.x - 200) / (box.width - 200);
    const under = begin + part * (end - begin);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -400);
    await page.keyboard.up("Control");
    await settle(page);
    const [nearBegin, nearEnd] = await rangeOf(page);
    assert.ok(nearEnd - nearBegin < (end - begin) * 0.5);
    assert.ok(Math.abs(nearBegin + part * (nearEnd - nearBegin) - under) < (end - begin) * 0.01,
      "the time under the pointer stays there");
    assert.notEqual(await pictureOf(page, "#timeline canvas.rows"), picture);
  }));

test("dragging moves the timeline and stops at the run's ends", () =>
  withPage("sample.html", {}, async (page) => {
    const { x, y } = await middleOfTimeline(page);
    await page.mouse.click(x, y);
    for (let i = 0; i < 3; ++i) await page.keyboard.press("+");
    await settle(page);
    const [begin, end] = await rangeOf(page);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x - 150, y, { steps: 4 });
    await page.mouse.up();
    await settle(page);
    const [later, laterEnd] = await rangeOf(page);
    assert.ok(later > begin);
    assert.ok(Math.abs((laterEnd - later) - (end - begin)) < 2);
    for (let i = 0; i < 60; ++i) await page.keyboard.press("ArrowLeft");
    await settle(page);
    assert.equal((await rangeOf(page))[0], 0);
  }));

test("the keyboard alone reaches every part of the timeline", () =>
  withPage("sample.html", {}, async (page) => {
    await page.locator("#timeline .pane").focus();
    const whole = await widthOf(page);
    await page.keyboard.press("n");
    await settle(page);
    assert.ok((await widthOf(page)) < whole / 20, "one step fills the view");
    assert.match(await page.locator(".spoken").innerText(), /^step 0, /);
    await page.keyboard.press("n");
    assert.match(await page.locator(".spoken").innerText(), /^step 1, /);
    await page.keyboard.press("p");
    assert.match(await page.locator(".spoken").innerText(), /^step 0, /);
    await page.keyboard.press("0");
    await settle(page);
    assert.equal(await widthOf(page), whole);
  }));

test("pointing at the timeline tells name, time and layer", () =>
  withPage("sample.html", {}, async (page) => {
    await page.locator("#timeline button.detail").first().click();
    await settle(page);
    const box = await page.locator("#timeline canvas.rows").boundingBox();
    const seen = [];
    for (let y = box.y + 34; y < box.y + 140; y += 6) {
      await page.mouse.move(box.x + 700, y);
      await settle(page);
      if (await page.locator(".tip").isVisible()) seen.push(await page.locator(".tip").innerText());
    }
    const all = seen.join("\n");
    assert.match(all, /step 41\s+took/);
    assert.match(all, /operation/);
    assert.match(all, /layer\s+framework/);
    assert.match(all, /took\s+[\d.]+ (ms|\u00b5s)/);
    await page.mouse.move(box.x + 700, box.y - 80);
    await settle(page);
    assert.equal(await page.locator(".tip").isVisible(), false);
  }));

test("exact spans appear in a detail and the rows grow for them", () =>
  withPage("sample.html", {}, async (page) => {
    const before = await page.$eval(".content", (e) => e.offsetHeight);
    await page.locator("#timeline button.detail").last().click();
    await settle(page);
    assert.ok((await page.$eval(".content", (e) => e.offsetHeight)) > before + 60);
    await page.getByRole("button", { name: "Whole run" }).click();
    await settle(page);
    assert.equal(await page.$eval(".content", (e) => e.offsetHeight), before);
  }));

test("the strip above the timeline selects a part of the run", () =>
  withPage("sample.html", {}, async (page) => {
    await page.locator("canvas.overview").scrollIntoViewIfNeeded();
    const box = await page.locator("canvas.overview").boundingBox();
    const whole = await widthOf(page);
    await page.mouse.move(box.x + 500, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + 700, box.y + 20, { steps: 5 });
    await page.mouse.up();
    await settle(page);
    const share = (await widthOf(page)) / whole;
    assert.ok(Math.abs(share - 200 / (box.width - 200)) < 0.01, String(share));
  }));

test("a click on a process folds its threads", () =>
  withPage("sample.html", {}, async (page) => {
    const before = await page.$eval(".content", (e) => e.offsetHeight);
    await page.locator("#timeline canvas.rows").scrollIntoViewIfNeeded();
    const box = await page.locator("#timeline canvas.rows").boundingBox();
    await page.mouse.click(box.x + 40, box.y + 40);
    await settle(page);
    assert.ok((await page.$eval(".content", (e) => e.offsetHeight)) < before - 200);
  }));

test("corrected and raw, time and share change the bars", () =>
  withPage("sample.html", {}, async (page) => {
    const value = () => page.locator(".row.process .value b").first().innerText();
    const widths = () => page.$$eval(".row:not(.process) .bar", (bars) => bars.map((bar) =>
      [...bar.querySelectorAll("g > rect:first-child")].reduce(
        (sum, rect) => sum + parseFloat(rect.getAttribute("width")), 0)));
    const corrected = await value();
    await page.getByRole("button", { name: "Raw" }).click();
    assert.notEqual(await value(), corrected);
    assert.ok((await widths()).some((width) => width < 50));
    await page.getByRole("button", { name: "Share" }).click();
    for (const width of await widths()) assert.ok(Math.abs(width - 100) < 0.01);
    assert.equal(await page.getByRole("button", { name: "Share" }).getAttribute("aria-pressed"),
      "true");
  }));

test("bars add up to what the table says", () =>
  withPage("sample.html", {}, async (page) => {
    await page.getByRole("button", { name: "Raw" }).click();
    const shown = () => page
      .locator(".row.process", { has: page.locator('[data-focus="train.py"]') })
      .locator(".value b").innerText();
    const sum = (part) => page.$$eval("#table-part_work tbody tr", (rows, wanted) => rows
      .filter((row) => row.cells[0].title === "train.py")
      .filter((row) => !wanted || row.cells[1].textContent === wanted)
      .reduce((all, row) => all + Number(row.cells[6].dataset.v), 0), part);
    const steps = await sum("steps");
    const first = page.locator(".row.process button").first();
    assert.equal(await first.getAttribute("data-focus"), "train.py",
      "first what the verdict speaks of, though its steps are shorter than others' windows");
    assert.equal(await shown(), `${(steps / 1e9).toFixed(3)} s`);
    const headline = await page.locator(".headline").innerText();
    assert.match(headline, new RegExp(`Its steps took ${(steps / 1e9).toFixed(3)} s`));
    const [, name, share] = /of which (\S+) took (\S+ %)/.exec(headline);
    const row = page.locator(".bars .row", { has: page.locator(`[title="${name}"]`) }).first();
    assert.equal(parseFloat(await row.locator(".value span").innerText()),
      parseFloat(share), "the sentence and the bar have one denominator");
    await page.getByRole("button", { name: "Whole window" }).click();
    assert.equal(await shown(), `${((await sum("")) / 1e9).toFixed(2)} s`);
  }));

test("tables sort by the exact value and filter", () =>
  withPage("sample.html", {}, async (page) => {
    const table = page.locator("#table-functions");
    const values = () => table.locator("tbody tr").evaluateAll((rows) =>
      rows.map((row) => Number(row.cells[2].dataset.v)));
    await table.getByRole("button", { name: "count" }).click();
    const down = await values();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    await table.getByRole("button", { name: "count" }).click();
    assert.deepEqual(await values(), [...down].sort((a, b) => a - b));
    await table.locator("input").fill("addmm");
    const left = await table.locator("tbody tr:not([hidden])").allInnerTexts();
    assert.ok(left.length > 0 && left.every((text) => text.includes("addmm")));
  }));

test("a slow step is told with its cause, and a click shows it in the timeline", () =>
  withPage("sample.html", {}, async (page) => {
    const canvas = page.locator("canvas.steps");
    await canvas.scrollIntoViewIfNeeded();
    await canvas.focus();
    await settle(page);  // a scroll that arrives late takes the tip away
    await page.keyboard.press("ArrowRight");
    await settle(page);
    const tip = await page.locator(".tip").innerText();
    assert.match(tip, /step 0\s+took/);
    assert.match(tip, /grew most/);
    const whole = await widthOf(page);
    await page.keyboard.press("Enter");
    await settle(page);
    assert.ok((await widthOf(page)) < whole / 20);
  }));

test("names that try to run as code stay text", async () => {
  await withPage("hostile.html", {}, async (page) => {
    const elements = () => page.evaluate(() => document.querySelectorAll("img,iframe,object,embed," +
      "form,link,base,video,audio,marquee,math,textarea,a:not([href^=\"#\"]),svg script").length);
    assert.equal(await page.locator("script").count(), 2);
    assert.equal(await elements(), 0);
    for (const choice of await page.locator(".choice button, .fold, #timeline button").all()) {
      await choice.click({ timeout: 2000 }).catch(() => {});
    }
    const box = await page.locator("#timeline canvas.rows").boundingBox();
    for (let y = 30; y < box.height; y += 25) {
      await page.mouse.move(box.x + 600, box.y + y);
      await settle(page);
    }
    await page.locator("#timeline button.detail").first().click();
    await page.locator("#timeline .pane").focus();
    await page.keyboard.press("Enter");
    assert.ok(await page.locator(".panel").isVisible());
    await page.keyboard.press("/");
    await page.keyboard.type("a");
    for (let i = 0; i < 5; ++i) await page.keyboard.press("Enter");
    assert.ok((await page.locator(".hits li").count()) > 10);
    await page.locator("#flame .flame button").nth(1).click();
    assert.equal(await elements(), 0);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.evaluate(() => [...document.querySelectorAll("*")]
      .flatMap((e) => e.getAttributeNames()).filter((n) => n.startsWith("on")).length), 0);
  });
});

test("without scripts the tables and the headline still read", () =>
  withPage("sample.html", { javaScriptEnabled: false }, async (page) => {
    assert.match(await page.locator(".headline").innerText(), /ran for/);
    assert.ok(await page.locator("#table-operations table").isVisible());
    assert.match(await page.locator("noscript").innerText(), /tables\s+below/);
    await page.locator("#table-steps summary").click();
    assert.ok(await page.locator("#table-steps table").isVisible());
  }));

test("a small window needs no sideways scrolling", () =>
  withPage("sample.html", { viewport: { width: 360, height: 740 } }, async (page) => {
    const [inner, whole] = await page.evaluate(() =>
      [window.innerWidth, document.documentElement.scrollWidth]);
    assert.ok(whole <= inner, `${whole} > ${inner}`);
  }));

test("a run without gaps, workers and devices is drawn too", () =>
  withPage("small.html", {}, async (page) => {
    assert.match(await page.locator(".whole").innerText(), /Nothing is known to be missing/);
    assert.equal(await page.locator(".row.process").count(), 1);
  }));

test("the longest run stays below 5 MB, its code below 100 KB, and is drawn", async () => {
  assert.ok(statSync(file("large.html")).size < 5 * 1024 * 1024);
  const text = readFileSync(file("large.html"), "utf8");
  const script = text.slice(text.lastIndexOf("<script>"));
  const style = text.slice(text.indexOf("<style>"), text.indexOf("</style>"));
  assert.ok(script.length + style.length < 100 * 1024);
  await withPage("large.html", {}, async (page) => {
    assert.ok((await coloursOf(page, "#timeline canvas.rows", 200)) > 8);
    assert.match(await page.locator("#pace").innerText(), /Of 100,000 steps/);
    const steps = await page.getByLabel("First: steps with spans").locator("option").allInnerTexts();
    assert.ok(steps.some((text) => text.startsWith("step 41, typical")), "whatever was thinned out");
  });
});
