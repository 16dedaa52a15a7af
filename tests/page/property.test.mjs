// Steps of random traces: what a reader points at, clicks and goes to is what the page's data has
// there. CROSSCUT_TEST_PAGES=500 draws as many; CROSSCUT_TEST_PAGES_SEED other ones.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { settle } from "./browser.mjs";
import { file, rangeOf, withPage } from "./pages.mjs";

const pages = Number(process.env.CROSSCUT_TEST_PAGES ?? 6);
const firstSeed = Number(process.env.CROSSCUT_TEST_PAGES_SEED ?? 1);

// mulberry32
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// The sample page with other steps: of up to three kinds whose numbers repeat, in two processes, from
// much less than a pixel to a third of the run; some processes have one step, and that is open.
function drawn(seed) {
  const random = randomOf(seed);
  const whole = (most) => Math.floor(random() * most);
  const html = readFileSync(file("sample.html"), "utf8");
  const [before, begin, text, after] =
    /^([\s\S]*)(<script[^>]*id="data"[^>]*>)([\s\S]*?)(<\/script>[\s\S]*)$/.exec(html).slice(1);
  const data = JSON.parse(text);
  const { processes, end } = data.timeline;
  const word = (name) => {
    if (!data.texts.includes(name)) data.texts.push(name);
    return data.texts.indexOf(name);
  };
  const kinds = ["step", "evaluation", "rollout"].slice(0, 1 + whole(3)).map(word);
  const columns = ["process", "step", "kind", "begin_ns", "end_ns", "wall_ns", "control", "level",
    "open"];
  const steps = Object.fromEntries(columns.map((name) => [name, []]));
  const outliers = { process: [], step: [], kind: [], median_ns: [], layers: [], grew_ns: [] };
  const summary = { process: [], kind: [], steps: [], median_ns: [] };
  const lanes = processes.filter((p) => p.tracks.length > 0).slice(0, 2);
  const lonely = whole(4) === 0;
  for (const lane of lanes) {
    const longest = end / (3 + whole(400));
    const room = lane.end - lane.begin;
    const numbers = new Map();
    for (let at = lane.begin + whole(room / 10); at < lane.end;) {
      const length = Math.max(1, Math.floor(longest * random() ** 3));
      if (at + length > lane.end) break;
      const kind = kinds[whole(kinds.length)];
      const number = numbers.get(kind) ?? 0;
      numbers.set(kind, (number + 1) % 40);  // an episode's steps begin again
      const row = [word(lane.name), number, kind, at, at + length, length, 0, 3, lonely ? 1 : 0];
      columns.forEach((name, i) => steps[name].push(row[i]));
      if (lonely) break;
      at += length + whole(longest / 4);
    }
    for (const kind of kinds) {
      summary.process.push(word(lane.name));
      summary.kind.push(kind);
      summary.steps.push(numbers.get(kind) ?? 0);
      summary.median_ns.push(1 + whole(1e6));
    }
  }
  data.steps = { rows: steps.step.length, ...steps };
  data.all_steps = steps.step.length;
  data.outliers = { rows: 0, ...outliers };
  data.step_summary = { rows: summary.kind.length, ...summary };
  const name = `drawn-${seed}.html`;
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  writeFileSync(file(name), before + begin + json + after);
  const rows = steps.step.map((number, i) => ({
    process: data.texts[steps.process[i]], begin: steps.begin_ns[i], end: steps.end_ns[i],
    title: `${data.texts[steps.kind[i]]} ${number}`, kind: data.texts[steps.kind[i]],
    open: steps.open[i] === 1,
  }));
  return { name, random, rows, lanes, data, summary };
}

// Of the canvas: its gutter and ruler as timeline.ts and timeline_draw.ts have them.
const gutter = 200;
const ruler = 26;

async function title(page) {
  const tip = page.locator(".tip");
  return (await tip.count()) && (await tip.isVisible())
    ? (await tip.innerText()).split("\n")[0] : null;
}

for (let seed = firstSeed; seed < firstSeed + pages; ++seed) {
  test(`what is pointed at, clicked and gone to is what is there: trace ${seed}`, () => {
    const { name, random, rows, lanes } = drawn(seed);
    return withPage(name, {}, async (page) => {
      const canvas = page.locator("#timeline canvas.rows");
      await canvas.scrollIntoViewIfNeeded();
      await settle(page);
      const mine = rows.filter((row) => row.process === lanes[0].name);
      for (let i = 0; i < 12; ++i) {
        if (mine.length === 0) break;
        const box = await canvas.boundingBox();
        const [begin, end] = await rangeOf(page);
        const perPixel = (end - begin) / (box.width - gutter);
        // Half of the points lie in a step.
        const aim = mine[Math.floor(random() * mine.length)];
        const at = i % 2 ? begin + random() * (end - begin)
          : aim.begin + random() * (aim.end - aim.begin);
        if (at < begin || at > end) continue;
        const x = Math.round(box.x + gutter + (at - begin) / perPixel);
        const time = begin + (x - box.x - gutter) * perPixel;
        const y = box.y + ruler + 5;
        for (const [reach, told] of [[2, async () => {
          await page.mouse.move(x, y);
          return title(page);
        }], [6, async () => {
          await page.mouse.click(x, y);
          return page.locator("#timeline .panel:not([hidden]) h3").innerText();
        }]]) {
          const away = (row) => Math.max(row.begin - time, time - row.end, 0);
          const least = Math.min(...mine.map(away));
          // Edges lie between pixels: all that are as near but for a twentieth of one.
          const near = mine.filter((row) => away(row) <= least + perPixel / 20);
          const got = await told();
          if (least > (reach - 0.05) * perPixel) continue;
          assert.ok(near.some((row) => row.title === got),
            `${got} at ${time}: there is ${near.map((row) => row.title)}`);
        }
        await page.keyboard.press("Escape");
      }
    });
  });

  test(`every step of every process is reached by N and P: trace ${seed}`, () => {
    const { name, rows } = drawn(seed);
    return withPage(name, {}, async (page) => {
      const order = [...rows].sort((a, b) => a.begin - b.begin);
      await page.locator("#timeline .pane").focus();
      await page.keyboard.press("0");
      await settle(page);
      const shows = async (row) => {
        await settle(page);
        const [begin, end] = await rangeOf(page);
        assert.ok(begin <= row.begin && row.end <= end, `${row.title}: ${begin} to ${end}`);
      };
      const some = order.slice(0, 15);
      for (const row of some) {
        await page.keyboard.press("n");
        await shows(row);
      }
      for (const row of some.slice(0, -1).reverse()) {
        await page.keyboard.press("p");
        await shows(row);
      }
    });
  });

  test(`the steps over time take hover, arrows and Enter: trace ${seed}`, () => {
    const { name, rows, random, summary, data } = drawn(seed);
    return withPage(name, {}, async (page) => {
      const canvas = page.locator("#pace canvas.steps");
      if (!(await canvas.isVisible())) return;
      await canvas.scrollIntoViewIfNeeded();
      await canvas.focus();
      const box = await canvas.boundingBox();
      for (let i = 0; i < 8; ++i) {
        await page.mouse.move(box.x + random() * box.width, box.y + random() * box.height);
      }
      await page.mouse.move(1, 1);  // nothing is pointed at, so that arrows begin at the first
      for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "Enter"]) {
        await canvas.press(key);
      }
      const drawnRows = rows.filter((row) => !row.open);
      if (drawnRows.length === 0) return;
      // The first step of the process with most of them, pinned in its own row.
      const sizes = (p) => rows.filter((row) => row.process === p).length;
      const process = [...new Set(rows.map((row) => row.process))]
        .reduce((a, b) => (sizes(b) > sizes(a) ? b : a));
      const told = summary.steps.reduce((sum, steps, i) =>
        sum + (data.texts[summary.process[i]] === process ? steps : 0), 0);
      assert.match(await page.locator("#pace .explain").last().innerText(),
        new RegExp(`^${String(told).replace(/\B(?=(\d{3})+$)/g, ",")} steps\\. `));
      const first = drawnRows.find((row) => row.process === process);
      assert.equal(await page.locator("#timeline .panel h3").innerText(), first.title);
      await canvas.focus();
      await canvas.press("ArrowLeft");
      const tip = await page.locator(".tip").innerText();
      const at = summary.kind.findIndex((kind, i) => data.texts[kind] === first.kind &&
        data.texts[summary.process[i]] === process);
      const share = (100 * (first.end - first.begin)) / summary.median_ns[at];
      const shares = /of the median[^\n\d]*\n?\s*([\d.,]+)\s*%/.exec(tip);
      assert.ok(shares, tip);
      assert.ok(Math.abs(Number(shares[1].replaceAll(",", "")) - share) <= 0.01 * share + 0.06,
        `${tip}: ${share}`);
    });
  });
}

test("a malformed link in the address is the name of nothing", () =>
  withPage("sample.html", {}, async (page) => {
    await page.evaluate(() => { location.hash = "%E0%A4%A"; });
    await settle(page);
  }));

test("a hit that is gone is not the active one, and a filter says how many rows are left", () =>
  withPage("sample.html", {}, async (page) => {
    const search = page.locator(".search input");
    await search.fill("a");
    await search.press("ArrowDown");
    const active = await search.getAttribute("aria-activedescendant");
    assert.equal(await page.locator(`#${active}`).count(), 1);
    await search.fill("no such name anywhere");
    assert.equal(await search.getAttribute("aria-activedescendant"), null);
    await search.press("Escape");
    const filter = page.locator("details.table .filter input").first();
    await filter.evaluate((input) => { input.closest("details").open = true; });
    await filter.fill("e");
    const table = filter.locator("xpath=ancestor::details");
    const left = await table.locator("tbody tr:not([hidden])").count();
    const all = await table.locator("tbody tr").count();
    assert.equal(await table.locator(".filter [role=status]").innerText(), `${left} of ${all} rows`);
  }));

test("the focus stays in the timeline when what had it goes", () =>
  withPage("sample.html", {}, async (page) => {
    const inPane = () => page.evaluate(() => document.activeElement.classList.contains("pane"));
    const detail = page.locator("#timeline button.detail").first();
    await detail.click();
    await page.locator("#timeline .pane").focus();
    await page.keyboard.press("Enter");
    await settle(page);
    await page.locator("#timeline .panel button.close").focus();
    await page.keyboard.press("Enter");
    await settle(page);
    assert.ok(await inPane());
  }));
