// How a reader finds things on the page: the verdict, the contents, tables with and without rows,
// plots that one huge step does not flatten; for readers of every kind.
import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "./browser.mjs";
import { violationsOf, withPage } from "./pages.mjs";

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1320, 400]) {
    test(`axe finds nothing in ${colorScheme}, ${width} px wide`, () =>
      withPage("sample.html", { colorScheme, viewport: { width, height: 860 } }, async (page) => {
        for (const fold of await page.locator("details:not([open]) > summary").all()) {
          if (await fold.isVisible()) await fold.click();
        }
        assert.deepEqual(await violationsOf(page), []);
      }));
  }
}

test("the verdict stands first, says what is missing, and leads to its evidence", () =>
  withPage("sample.html", {}, async (page) => {
    const verdict = page.locator("#verdict");
    const text = await verdict.innerText();
    assert.match(text, /^Verdict\s+2 things are missing/);
    assert.ok(text.indexOf("wait for input") < text.indexOf("Garbage collection"), "by rank");
    assert.match(text, /train\.py:33/);
    assert.match(text, /42 % at most \(95 %: 40 % to 44 %\) of the time: an upper bound/);
    const top = async (selector) => (await page.locator(selector).first().boundingBox()).y;
    assert.ok((await top("#verdict")) < (await top(".gaps")));
    assert.ok((await top(".gaps")) < (await top(".headline")));
    await page.locator("#table-functions summary").click();
    await verdict.getByRole("link", { name: "Table: Functions" }).click();
    await settle(page);
    assert.ok(await page.locator("#table-functions table").isVisible(), "a link unfolds");
  }));

test("the contents stay in view and list what there is", () =>
  withPage("small.html", {}, async (page) => {
    const links = page.locator(".contents a");
    const seen = await links.evaluateAll((all) =>
      all.filter((link) => link.offsetParent !== null).map((link) => link.innerText));
    assert.ok(seen.includes("Timeline") && seen.includes("Steps"), String(seen));
    assert.ok(!seen.includes("Memory"), "no memory was recorded");
    await links.getByText("Tables", { exact: true }).click();
    await settle(page);
    assert.ok((await page.locator(".contents").boundingBox()).y < 2);
    assert.ok((await page.locator("#tables h2").boundingBox()).y < 200);
    await page.locator(".tables a", { hasText: "Where spans came from" })
      .or(page.locator(".tables a[href='#table-sources']")).first().click();
    await settle(page);
    assert.ok(await page.locator("#table-sources table").isVisible());
  }));

test("tables without rows are named with what would record them", () =>
  withPage("sample.html", {}, async (page) => {
    assert.equal(await page.locator(".table .count", { hasText: /^0 rows/ }).count(), 0);
    const empty = page.locator(".empty");
    assert.match(await empty.innerText(), /^1 table has no rows/);
    await empty.locator("summary").click();
    assert.match(await empty.innerText(), /crosscut record/);
  }));

test("one huge step does not flatten the plot of steps", () =>
  withPage("small.html", {}, async (page) => {
    const note = page.locator("#pace .note");
    assert.match(await note.innerText(), /^3 steps are longer than this axis \(up to .* s\)/);
    // Over how many lines of pixels the dots of usual steps spread.
    const spread = () => page.$eval("canvas.steps", (canvas) => {
      const { width, height } = canvas;
      const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(90, 0, width - 90, height - 30);
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4) {
        const [r, g, b] = data.slice(i, i + 3);
        const dot = Math.abs(r - 55) + Math.abs(g - 118) + Math.abs(b - 200) < 4;
        if (dot) seen.add(Math.floor(i / 4 / (width - 90)));
      }
      return Math.max(...seen) - Math.min(...seen);
    });
    await page.getByRole("button", { name: "All steps" }).click();
    await settle(page);
    const flat = await spread();
    assert.equal(await note.isVisible(), false);
    await page.getByRole("button", { name: "Usual steps" }).click();
    await settle(page);
    assert.ok((await spread()) > flat * 4, `${await spread()}, ${flat} before`);
  }));
