// Opens sample pages in headless Chromium from the disk, and records whatever a page does that it
// should not: requests, console messages, errors.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const require = createRequire(join(root, "src/report/page/package.json"));

function loadChromium() {
  try {
    return require("playwright-core").chromium;
  } catch {
    throw new Error("playwright-core is missing: run `npm ci` in src/report/page");
  }
}

function chromiumPath() {
  const candidates = [process.env.CROSSCUT_CHROMIUM, "/usr/bin/chromium",
    "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const found = candidates.find((path) => path && existsSync(path));
  if (!found) throw new Error("no Chromium: install it or set CROSSCUT_CHROMIUM");
  return found;
}

export function launch() {
  const asRoot = process.getuid?.() === 0;
  return loadChromium().launch({
    executablePath: chromiumPath(),
    args: asRoot ? ["--no-sandbox"] : [],
  });
}

// A folder with the sample pages; call remove() at the end.
export function writeSamples() {
  const program = process.env.CROSSCUT_WRITE_SAMPLE ??
    join(root, "build/release/src/report/write_sample_page");
  if (!existsSync(program)) throw new Error(`no ${program}: set CROSSCUT_WRITE_SAMPLE`);
  const folder = mkdtempSync(join(tmpdir(), "crosscut-page-"));
  execFileSync(program, [folder]);
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

// Opens a file. `bad` fills with everything the page should not have done.
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1320, height: 900 }, ...options,
  });
  const page = await context.newPage();
  const bad = [];
  const url = pathToFileURL(file).href;
  page.on("request", (request) => {
    if (request.url() !== url) bad.push(`request: ${request.url()}`);
  });
  page.on("console", (message) => bad.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => bad.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { bad.push("dialog"); dialog.dismiss(); });
  await page.goto(url);
  if (options.javaScriptEnabled !== false) {
    await page.waitForSelector("html[data-ready=yes]", { timeout: 10000 });
    await settle(page);
  }
  return { page, bad, context };
}

// Until what was asked for is drawn.
export async function settle(page) {
  await page.evaluate(() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => done()))));
}
