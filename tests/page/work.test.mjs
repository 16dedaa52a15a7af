// What a reader does with the timeline and the search: finds, pins, sums up a range, by mouse,
// keyboard and touch.
import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "./browser.mjs";
import { coloursOf, middleOfTimeline, rangeOf, violationsOf, widthOf, withPage } from "./pages.mjs";

const panel = (page) => page.locator(".panel");

// Pins the first operator of the typical step by a click; returns the panel's text.
async function pinOperator(page) {
  await page.locator("#timeline button.detail").first().click();
  await settle(page);
  const box = await page.locator("#timeline canvas.rows").boundingBox();
  await page.mouse.click(box.x + 200 + 0.3 * (box.width - 200), box.y + 26 + 30 + 24 + 2 * 15 + 7);
  await settle(page);
  return panel(page).innerText();
}

test("/ searches spans and tables; Enter goes from hit to hit; Escape clears", () =>
  withPage("sample.html", {}, async (page) => {
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
    await page.keyboard.type("aten::addmm");
    const hits = page.locator(".hits li");
    assert.match(await page.locator(".hits .note").innerText(), /^[\d,]+ hits under \d+ entries/);
    assert.match(await hits.first().innerText(), /aten::addmm\s+\d+ kept spans, [\d.]+ ms/);
    const whole = await widthOf(page);
    await page.keyboard.press("Enter");
    await settle(page);
    assert.ok((await widthOf(page)) < whole / 100, "the timeline shows the hit");
    assert.match(await panel(page).innerText(), /^\s*\u00d7?\s*aten::addmm/);
    const [first] = await rangeOf(page);
    assert.match(await page.locator(".spoken").innerText(), /aten::addmm, 1 of \d+/);
    await page.keyboard.press("Enter");
    await settle(page);
    assert.ok((await rangeOf(page))[0] > first, "Enter goes on in time");
    await page.keyboard.press("ArrowDown");
    assert.equal(await hits.nth(1).getAttribute("aria-selected"), "true");
    const row = hits.filter({ hasText: "table Functions" }).first();
    await row.click();
    await settle(page);
    const found = page.locator("tr.found");
    assert.match(await found.innerText(), /aten::addmm/);
    const box = await found.boundingBox();
    assert.ok(box.y > 0 && box.y < 900, "the row is in view");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".search input").inputValue(), "");
    assert.equal(await page.locator(".hits").isVisible(), false);
    assert.equal(await panel(page).isVisible(), false);
  }));

test("a search that finds nothing says what was searched", () =>
  withPage("sample.html", {}, async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("no such name");
    assert.match(await page.locator(".hits").innerText(), /spans of some steps and the first rows[\s\S]*not searched/);
    await page.keyboard.press("Enter");
  }));

test("a click pins a span with all that is known of it", () =>
  withPage("sample.html", {}, async (page) => {
    const text = await pinOperator(page);
    assert.match(text, /aten::addmm|AddmmBackward0/);
    assert.match(text, /layer\s+framework/);
    assert.match(text, /took\s+[\d.]+ \u00b5s\s+itself\s+[\d.]+ \u00b5s, [\d.]+ %/);
    assert.match(text, /in\s+step 41/);
    assert.match(text, /called from\s+line 34 of/);
    assert.match(text, /Input Dims\s+\[\[64, 512\], \[512, 128\]\]/);
    assert.match(text, /Inside of\s+1\.\s+step\s+2\.\s+(forward|backward)|Inside of\s+step\s+forward/);
    await panel(page).locator(".chain .go").first().click();
    await settle(page);
    assert.match(await panel(page).innerText(), /what\s+step/, "a parent can be gone to");
    await page.keyboard.press("Escape");
    assert.equal(await panel(page).isVisible(), false);
  }));

test("the self time of a span is its time without its children's", () =>
  withPage("sample.html", {}, async (page) => {
    await pinOperator(page);
    await panel(page).locator(".chain .go").nth(1).click();
    await settle(page);
    const ns = async (what) => {
      const text = await panel(page).locator("dl div", { hasText: new RegExp(`^${what}`) })
        .first().locator("dd").innerText();
      const [, value, unit] = /([\d.]+) (ms|\u00b5s|s|ns)/.exec(text);
      return Number(value) * { s: 1e9, ms: 1e6, "\u00b5s": 1e3, ns: 1 }[unit];
    };
    const inside = await page.evaluate(() => {
      const data = JSON.parse(document.getElementById("data").textContent);
      const { timeline } = data;
      const track = timeline.details[0].tracks[0];
      const name = timeline.texts.indexOf("forward");
      let at = timeline.details[0].begin;
      let open = null;
      let sum = 0;
      track.at.forEach((step, i) => {
        at += step;
        if (track.name[i] === name && track.kind[i] === 1 && !open) open = at + track.ns[i];
        else if (open && at < open && track.depth[i] === 2) sum += track.ns[i];
      });
      return sum;
    });
    const took = await ns("took");
    assert.ok(Math.abs(took - (await ns("itself")) - inside) < took * 0.001);
  }));

test("arrows lead from a launch to its kernel and back, and say what is not kept", () =>
  withPage("sample.html", {}, async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("gemm");
    const kernel = page.locator(".hits li", { hasText: /^gemm\s+\d+ kept/ });
    await kernel.click();
    for (let i = 0; i < 400 && !/Comes from/.test(await panel(page).innerText()); ++i) {
      await page.keyboard.press("Enter");
    }
    await panel(page).locator("h4", { hasText: "Comes from" }).locator("+ ul .go").click();
    await settle(page);
    assert.match(await panel(page).innerText(), /Leads to\s+gemm[\s\S]*1 at a span that this page/);
  }));

test("the keyboard pins spans, walks them and lets go", () =>
  withPage("sample.html", {}, async (page) => {
    await page.locator("#timeline .pane").focus();
    await page.keyboard.press("Enter");
    assert.match(await page.locator(".spoken").innerText(), /No span is kept here/);
    await page.locator("#timeline button.detail").first().click();
    await page.locator("#timeline .pane").focus();
    await page.keyboard.press("Enter");
    await settle(page);
    assert.ok(await panel(page).isVisible());
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.closest(".panel") !== null));
    await page.keyboard.press("Escape");
    assert.equal(await panel(page).isVisible(), false);
  }));

test("rows of tables are reached from a pinned span", () =>
  withPage("sample.html", {}, async (page) => {
    await pinOperator(page);
    await panel(page).locator("h4", { hasText: "In the tables" }).locator("+ ul .go").first().click();
    await settle(page);
    assert.match(await page.locator("tr.found").innerText(), /aten::addmm|AddmmBackward0/);
  }));

// The sum of a table's times in ns, as far as four digits tell.
const sumOf = (page, index) => page.locator(".parts table").nth(index).evaluate((table) =>
  [...table.tBodies[0].rows].reduce((sum, row) => {
    const [value, unit] = row.cells[1].textContent.split(" ");
    return sum + Number(value) * { s: 1e9, ms: 1e6, "\u00b5s": 1e3, ns: 1 }[unit];
  }, 0));

async function dragOver(page, from, to) {
  const { y, box } = await middleOfTimeline(page);
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + 200 + from * (box.width - 200), y);
  await page.mouse.down();
  await page.mouse.move(box.x + 200 + to * (box.width - 200), y, { steps: 6 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await settle(page);
}

test("a range that is kept as spans is summed up exactly", () =>
  withPage("sample.html", {}, async (page) => {
    await page.locator("#timeline button.detail").first().click();
    await settle(page);
    const whole = await widthOf(page);
    const before = await rangeOf(page);
    await dragOver(page, 0.25, 0.75);
    assert.deepEqual(await rangeOf(page), before, "Shift and drag does not move");
    const text = await page.locator(".range-table").innerText();
    assert.match(text, /All of it comes from exact spans/);
    assert.match(text, /forward/);
    assert.match(text, /aten::addmm/);
    for (const index of [0, 1, 2]) {
      assert.ok(Math.abs((await sumOf(page, index)) / (whole / 2) - 1) < 0.005, `table ${index}`);
    }
  }));

test("a range without spans says that it is an estimate, and still adds up", () =>
  withPage("sample.html", {}, async (page) => {
    const whole = await widthOf(page);
    await page.getByRole("button", { name: "Sum up a range" }).click();
    const { y, box } = await middleOfTimeline(page);
    await page.mouse.move(box.x + 200 + 0.5 * (box.width - 200), y);
    await page.mouse.down();
    await page.mouse.move(box.x + 200 + 0.9 * (box.width - 200), y, { steps: 6 });
    await page.mouse.up();
    await settle(page);
    assert.match(await page.locator(".range-table").innerText(), /is an estimate/);
    for (const index of [0, 1, 2]) {
      assert.ok(Math.abs((await sumOf(page, index)) / (whole * 0.4) - 1) < 0.01, `table ${index}`);
    }
    const [axe, ...more] = await violationsOf(page);
    assert.equal(axe, undefined, String(more));
    await page.getByRole("button", { name: "Let go" }).click();
    assert.equal(await page.locator(".range-table").isVisible(), false);
  }));

// Fingers on the canvas, as [x, y] of each in steps.
async function touch(page, ...steps) {
  const session = await page.context().newCDPSession(page);
  for (const [i, points] of steps.entries()) {
    await session.send("Input.dispatchTouchEvent", {
      type: i === 0 ? "touchStart" : "touchMove",
      touchPoints: points.map(([x, y], id) => ({ x, y, id })),
    });
  }
  await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await settle(page);
}

test("on a phone two fingers zoom, one moves, a tap pins", () =>
  withPage("sample.html", { viewport: { width: 400, height: 800 }, hasTouch: true, isMobile: true },
    async (page) => {
      const { box } = await middleOfTimeline(page);
      const y = box.y + 70;
      const x = (part) => box.x + 110 + part * (box.width - 110);
      const whole = await widthOf(page);
      const spread = [0, 1, 2, 3, 4, 5].map((i) =>
        [[x(0.5 - 0.05 * (i + 1)), y], [x(0.5 + 0.05 * (i + 1)), y]]);
      await touch(page, ...spread);
      const near = await widthOf(page);
      assert.ok(near < whole / 2, `${near} of ${whole}`);
      const [begin] = await rangeOf(page);
      await touch(page, [[x(0.8), y]], [[x(0.7), y]], [[x(0.5), y]], [[x(0.4), y]]);
      assert.ok((await rangeOf(page))[0] > begin);
      assert.ok(Math.abs((await widthOf(page)) - near) < 2);
      await touch(page, [[x(0.5), y]]);
      assert.ok(await panel(page).isVisible(), "a tap pins");
      const seen = await panel(page).boundingBox();
      assert.ok(seen.x >= 0 && seen.x + seen.width <= 400 && seen.y + seen.height <= 801);
      await panel(page).getByRole("button", { name: "Unpin" }).click();
      assert.equal(await panel(page).isVisible(), false);
    }));

test("a step without spans says how to get them", () =>
  withPage("sample.html", {}, async (page) => {
    assert.match(await page.locator("#pace .explain").last().innerText(),
      /keeps the spans of 5 of them \(ringed\)[\s\S]*crosscut open RUN --steps \d+/);
    const canvas = page.locator("canvas.steps");
    await canvas.scrollIntoViewIfNeeded();
    await canvas.focus();
    for (let i = 0; i < 3; ++i) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await settle(page);
    assert.match(await panel(page).innerText(), /no spans of this step[\s\S]*--steps 2/);
    assert.ok((await coloursOf(page, "#timeline canvas.rows", 200)) > 3);
  }));
