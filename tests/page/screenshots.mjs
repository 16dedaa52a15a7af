// Screenshots of the sample page for people to look at: node screenshots.mjs FOLDER [FILE...]
import { basename, join } from "node:path";
import { launch, open, settle, writeSamples } from "./browser.mjs";

const [folder, ...files] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node screenshots.mjs FOLDER [FILE...]");
  process.exit(2);
}
const samples = files.length ? null : writeSamples();
const browser = await launch();
for (const file of files.length ? files : [join(samples.folder, "sample.html")]) {
  const name = basename(file, ".html");
  const looks = [
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["narrow", { colorScheme: "light", viewport: { width: 420, height: 860 } }],
    ["plain", { colorScheme: "light", javaScriptEnabled: false }],
  ];
  for (const [look, options] of looks) {
    const { page, context } = await open(browser, file, options);
    await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: true });
    const detail = page.locator("#timeline button.detail").last();
    if (look !== "plain" && (await detail.count()) > 0) {
      await detail.click();
      await page.locator("#timeline").scrollIntoViewIfNeeded();
      const box = await page.locator("#timeline canvas.rows").boundingBox();
      await page.mouse.move(box.x + box.width * 0.55, box.y + 95);
      await settle(page);
      await page.screenshot({ path: join(folder, `${name}-${look}-detail.png`) });
    }
    await context.close();
  }
}
await browser.close();
samples?.remove();
