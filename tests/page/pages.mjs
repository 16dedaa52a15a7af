// Sample pages and one browser for the tests of a file, and what they look at.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before } from "node:test";
import { launch, open, root, writeSamples } from "./browser.mjs";

let samples;
let browser;
before(async () => {
  samples = writeSamples();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  samples?.remove();
});

export const file = (name) => join(samples.folder, name);

export async function withPage(name, options, body) {
  const opened = await open(browser, file(name), options);
  try {
    await body(opened.page);
    assert.deepEqual(opened.bad, []);
  } finally {
    await opened.context.close();
  }
}

// How many different colours a canvas shows right of `from` CSS pixels.
export const coloursOf = (page, selector, from = 0) => page.$eval(selector, (canvas, left) => {
  const ratio = window.devicePixelRatio;
  const { data } = canvas.getContext("2d").getImageData(left * ratio, 0, canvas.width - left * ratio,
    canvas.height);
  const colours = new Set();
  for (let i = 0; i < data.length; i += 4) {
    colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  }
  return colours.size;
}, from);

// A mark for everything a canvas shows.
export const pictureOf = (page, selector) => page.$eval(selector, (canvas) => canvas.toDataURL());

export const rangeOf = (page) => page.$eval("#timeline canvas.rows", (canvas) =>
  [Number(canvas.dataset.begin), Number(canvas.dataset.end)]);

export const widthOf = async (page) => {
  const [begin, end] = await rangeOf(page);
  return end - begin;
};

export async function middleOfTimeline(page) {
  await page.locator("#timeline canvas.rows").scrollIntoViewIfNeeded();
  const box = await page.locator("#timeline canvas.rows").boundingBox();
  return { x: box.x + box.width * 0.6, y: box.y + 70, box };
}

// What axe-core finds against the rules of accessibility: "rule: element" for each place.
export async function violationsOf(page) {
  const require = createRequire(join(root, "src/report/page/package.json"));
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`));
}
