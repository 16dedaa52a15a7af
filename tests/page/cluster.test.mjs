// The page of a cluster (python/crosscut/cluster/page.html), with the ranks of a synthetic job.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, open, root } from "./browser.mjs";
import { violationsOf } from "./pages.mjs";

let browser, folder, file;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "crosscut-cluster-"));
  file = join(folder, "cluster.html");
  execFileSync(process.env.CROSSCUT_PYTHON_FOR_PAGES ?? join(root, ".venv/bin/python"),
    [join(root, "tests/python/cluster/write_page.py"), file],
    { env: { ...process.env, PYTHONPATH: join(root, "build/release/python") } });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1320, 400]) {
    test(`axe finds nothing on a cluster's page in ${colorScheme}, ${width} px wide`, async () => {
      const { page, bad, context } =
        await open(browser, file, { colorScheme, viewport: { width, height: 900 } });
      const [first, ...more] = await violationsOf(page);
      assert.equal(first, undefined, String(more));
      assert.deepEqual(bad, []);
      await context.close();
    });
  }
}

test("the map says which rank and step it is, by the mouse and by the keys", async () => {
  const { page, context } = await open(browser, file);
  const box = await page.locator("#heat").boundingBox();
  // 600 ranks in 256 rows: rank 333 is in row 142.
  await page.mouse.move(box.x + box.width / 2, box.y + (142.5 / 256) * box.height);
  const told = page.locator("#told");
  assert.match(await told.textContent(), /ranks 33[23] to 33\d \(host host0004\d\), step 30: /);
  assert.match(await told.textContent(), /work beyond the median rank's (about|at least) 3\.00 ms/);
  await page.locator("#heat").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await told.textContent(), /step 31: /);
  await page.locator("#layer").selectOption({ label: "comm" });
  assert.match(await told.textContent(), /step 31: comm /);
  await context.close();
});

test("a cluster's page stays small", () => {
  assert.ok(statSync(file).size < 5 << 20);
});
