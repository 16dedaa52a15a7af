// Step against step and the flame graph: what a reader learns from the steps that the page keeps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "./browser.mjs";
import { violationsOf, withPage } from "./pages.mjs";

const ns = (text) => {
  const [, value, unit] = /^([+-]?[\d.,]+) (ms|\u00b5s|s|ns)$/.exec(text);
  return Number(value.replace(",", "")) * { s: 1e9, ms: 1e6, "\u00b5s": 1e3, ns: 1 }[unit];
};

// Of the table of differences: the cells of each row.
const rowsOf = (page) => page.locator("#compare tbody tr").evaluateAll((rows) =>
  rows.map((row) => [...row.cells].map((cell) => cell.textContent)));

const rangesOf = (page) => page.locator("#compare canvas").evaluateAll((all) =>
  all.map((canvas) => [Number(canvas.dataset.begin), Number(canvas.dataset.end)]));

test("two steps stand under each other with one scale, and their differences add up", () =>
  withPage("sample.html", {}, async (page) => {
    await page.locator("#compare").scrollIntoViewIfNeeded();
    await settle(page);
    const heads = await page.locator("#compare h3").allInnerTexts();
    assert.match(heads[0], /^step 41: 2\d\.\d+ ms$/);
    assert.match(heads[1], /^step 229: [\d.]+ ms$/);
    const [a, b] = await rangesOf(page);
    assert.deepEqual(a, b, "both begin at 0 and are as wide as the longer");
    assert.equal(a[0], 0);
    for (const group of ["Operations", "Layers", "What ran"]) {
      await page.locator("#compare").getByRole("button", { name: group }).click();
      const rows = await rowsOf(page);
      const total = rows.pop();
      assert.equal(total[0], "the step");
      for (const column of [1, 2, 3]) {
        const sum = rows.reduce((all, row) => all + ns(row[column]), 0);
        assert.ok(Math.abs(sum - ns(total[column])) < ns(total[2]) * 0.002, `${group} ${column}`);
      }
    }
    const text = await page.locator("#compare").innerText();
    assert.match(text, /step 41: All of it comes from exact spans/);
  }));

test("zooming one side zooms the other to the same time", () =>
  withPage("sample.html", {}, async (page) => {
    await page.locator("#compare").getByRole("button", { name: "Zoom in on both" }).click();
    await settle(page);
    const [a, b] = await rangesOf(page);
    assert.ok(a[0] > 0 && Math.abs(a[0] - b[0]) < 2 && Math.abs(a[1] - b[1]) < 2, `${a} ${b}`);
    await page.locator("#compare").getByRole("button", { name: "Whole steps" }).click();
    await settle(page);
    assert.equal((await rangesOf(page))[1][0], 0);
  }));

test("any step can be chosen by its number; one without spans is called an estimate", () =>
  withPage("sample.html", {}, async (page) => {
    const number = page.getByLabel("Second: number of any step");
    await number.fill("100");
    await number.press("Enter");
    await settle(page);
    assert.match((await page.locator("#compare h3").allInnerTexts())[1], /^step 100: /);
    assert.match(await page.locator("#compare").innerText(), /step 100: This is an estimate/);
    const rows = await rowsOf(page);
    const total = rows.pop();
    const sum = rows.reduce((all, row) => all + ns(row[2]), 0);
    assert.ok(Math.abs(sum - ns(total[2])) < ns(total[2]) * 0.002);
    await number.fill("100000");
    await number.press("Enter");
    assert.match(await page.locator("#compare .note").innerText(), /no step of that number/);
  }));

test("steps of two runs stand under each other", () =>
  withPage("compared.html", {}, async (page) => {
    const heads = await page.locator("#compare h3").allInnerTexts();
    assert.match(heads[0], /^A, step 41: /);
    assert.match(heads[1], /^B, step 41: /);
    const [a, b] = await rangesOf(page);
    assert.deepEqual(a, b);
    const rows = await rowsOf(page);
    const total = rows.pop();
    for (const column of [1, 2]) {
      const sum = rows.reduce((all, row) => all + ns(row[column]), 0);
      assert.ok(Math.abs(sum - ns(total[column])) < ns(total[column]) * 0.002);
    }
    assert.equal(await page.locator("#timeline").count(), 0);
    assert.ok(await page.locator("#table-operations table").isVisible());
    assert.deepEqual(await violationsOf(page), []);
  }));

test("the flame graph merges the kept steps, fills the width, and tells times", () =>
  withPage("sample.html", {}, async (page) => {
    const flame = page.locator("#flame .flame");
    await flame.scrollIntoViewIfNeeded();
    const bars = flame.locator("button");
    const label = (name) => flame.locator(`button[aria-label^="${name}"]`).first()
      .getAttribute("aria-label");
    const kept = await page.evaluate(() => {
      const { timeline } = JSON.parse(document.getElementById("data").textContent);
      return timeline.details.reduce((sum, { begin, end }) => sum + end - begin, 0);
    });
    const all = /^all of it, ([\d.]+ ms), 100\.0 %$/.exec(await label("all of it"));
    assert.ok(Math.abs(ns(all[1]) - kept) < kept * 0.001);
    const [root, step] = [await bars.nth(0).boundingBox(), await bars.nth(1).boundingBox()];
    assert.ok(step.y > root.y && step.width <= root.width);
    const backward = flame.locator('button[aria-label^="backward"]').first();
    const narrow = (await backward.boundingBox()).width;
    await backward.click();
    await settle(page);
    const wide = flame.locator('button[aria-label^="backward"]').first();
    assert.ok((await wide.boundingBox()).width > narrow * 1.5, "a click fills the width");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const words = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    assert.match(words, /^(step|backward|AddmmBackward0), /, "arrows walk the bars");
    await page.locator("#flame").getByRole("button", { name: "Whole width" }).click();
    await settle(page);
    assert.equal(Math.round((await flame.locator('button[aria-label^="backward"]').first()
      .boundingBox()).width), Math.round(narrow));
    assert.match(await page.locator("#flame .explain").innerText(), /no average of the run/);
  }));

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing with a span pinned, in ${colorScheme}`, () =>
    withPage("sample.html", { colorScheme }, async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("aten::addmm");
      await page.keyboard.press("Enter");
      await settle(page);
      assert.deepEqual(await violationsOf(page), []);
    }));
}
