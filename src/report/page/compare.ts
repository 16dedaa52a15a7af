// Step against step: two steps laid under each other with one time scale from their begins, and a
// table of what differs. The sides may come from two runs.
import { button, choice, el, fitCanvas } from "./dom";
import { formatNs, formatPercent } from "./format";
import { onThemeChange } from "./layers";
import { sureness } from "./range";
import { noSpan, Sums, sumsOf } from "./sums";
import { drawTimeline, rulerHeight } from "./timeline_draw";
import { find } from "./timeline_hover";
import { Input, InputTarget } from "./timeline_input";
import { Lane, Model, StepMark, Window, windowOfStep } from "./timeline_model";
import { View } from "./timeline_view";
import { hideTip, showTip } from "./tooltip";

// A run that steps are taken from. The title tells two runs apart; "" where there is only one.
export interface Run { title: string; model: Model }

export interface Side {
  title: string;
  model: Model;
  lane: Lane;
  begin: number;
  end: number;
  window: Window | undefined;  // its spans, if the page keeps them
}

type Grouping = "operations" | "layers" | "names";
const rowsShown = 20;

export function sideOf({ title, model }: Run, lane: Lane, step: StepMark): Side {
  return {
    title: `${title ? `${title}, ` : ""}${step.kind} ${step.step}`, model, lane,
    begin: step.begin, end: step.end, window: windowOfStep(model, lane, step),
  };
}

// One side's lead and devices on a canvas.
class Strip implements InputTarget {
  readonly canvas = el("canvas", { class: "rows" });
  readonly pane = el("div", { class: "pane", tabindex: 0, role: "application" }, this.canvas);
  readonly choosing = false;
  readonly view: View;
  private shown: { begin: number; end: number };

  constructor(
    readonly side: Side, length: number, private synchronise: (strip: Strip) => void,
  ) {
    const { model, lane, begin, end } = side;
    const tracks = lane.tracks.filter(({ track }, i) => i === 0 || track.device);
    const timeline = { ...model.timeline, begin, end: begin + length };
    const own = { ...lane, tracks };
    this.view = new View({ ...model, timeline, lanes: [own] });
    if (side.window) this.view.favour(side.window);
    this.shown = { begin, end };
    this.pane.setAttribute("aria-label", `${side.title}, ${formatNs(end - begin)}`);
    new Input(this);
    new ResizeObserver(() => this.draw()).observe(this.pane);
  }

  private gutter(): number {
    return this.pane.clientWidth < 640 ? 110 : 200;
  }

  draw(): void {
    const needed = this.view.height + rulerHeight + 6;
    this.canvas.style.height = `${needed}px`;
    const { width, height } = fitCanvas(this.canvas);
    const context = this.canvas.getContext("2d");
    if (!context || width < 40) return;
    drawTimeline({
      context, width, height, gutter: this.gutter(), scroll: 0, zero: this.side.begin, hover: null,
      pinned: null, chosen: this.shown,
    }, this.view);
    this.canvas.dataset.begin = String(this.view.begin - this.side.begin);
    this.canvas.dataset.end = String(this.view.end - this.side.begin);
  }

  timeAt(x: number): number {
    const { left, width } = this.canvas.getBoundingClientRect();
    const gutter = this.gutter();
    return this.view.begin + ((x - left - gutter) / (width - gutter)) * this.view.span;
  }

  perPixel(): number {
    return this.view.span / Math.max(1, this.canvas.clientWidth - this.gutter());
  }

  rowsY(y: number): number {
    return y - this.canvas.getBoundingClientRect().top - rulerHeight;
  }

  inLabels(x: number): boolean {
    return x - this.canvas.getBoundingClientRect().left < this.gutter();
  }

  point(x: number, y: number): void {
    const found = this.inLabels(x)
      ? null : find(this.view, this.timeAt(x), this.rowsY(y), this.perPixel() * 2);
    if (found) showTip(found.title, found.lines, x, y);
    else hideTip();
  }

  pin(x: number, y: number): void { this.point(x, y); }
  fold(): void { /* both sides show the same rows */ }
  fill(): void { /* the scale is that of both */ }
  choose(): void { /* the table is of the whole steps */ }
  leave(): void { hideTip(); }
  moved(): void { this.synchronise(this); }
  key(): boolean { return false; }
}

function partsOf(side: Side, grouping: Grouping): { sums: Sums; parts: Map<string, number> } {
  const sums = sumsOf(side.model, side.lane, 0, [side.begin, side.end]);
  return { sums, parts: sums[grouping] };
}

// "+1.2 ms", "-3 µs".
const signed = (ns: number) => (ns > 0 ? "+" : "") + formatNs(ns);

function rowOf(name: string, [a, b]: [number, number], whole: number, total = false): HTMLElement {
  const cell = (text: string) => el("td", { class: "n" }, text);
  return el("tr", total ? { class: "total" } : {}, el("td", {}, name), cell(formatNs(a)),
    cell(formatNs(b)), cell(signed(b - a)), cell(formatPercent(b - a, whole)));
}

// The largest differences first; the rest in one row, so that each column adds up.
function differences(a: Side, b: Side, grouping: Grouping): HTMLElement {
  const one = partsOf(a, grouping);
  const two = partsOf(b, grouping);
  const names = [...new Set([...one.parts.keys(), ...two.parts.keys()])];
  const pair = (name: string): [number, number] =>
    [one.parts.get(name) ?? 0, two.parts.get(name) ?? 0];
  const size = (name: string) => Math.abs(pair(name)[1] - pair(name)[0]);
  names.sort((x, y) => size(y) - size(x));
  const whole = a.end - a.begin;
  const body = el("tbody");
  for (const name of names.slice(0, rowsShown)) body.append(rowOf(name, pair(name), whole));
  const rest = names.slice(rowsShown);
  if (rest.length) {
    const sum = rest.map(pair).reduce(([p, q], [r, s]) => [p + r, q + s], [0, 0]);
    body.append(rowOf(`(${rest.length} others)`, sum as [number, number], whole));
  }
  body.append(rowOf("the step", [whole, b.end - b.begin], whole, true));
  const heads = ["", a.title, b.title, "difference", `of ${a.title}`].map((text, i) =>
    el("th", i ? { scope: "col", class: "n" } : { scope: "col" }, text || "of the lead thread"));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body);
  const notes = [a, b].map((side, i) => `${side.title}: ${sureness((i ? two : one).sums)}`);
  if (grouping === "names") notes.push(`Times are without what was called; ${noSpan} is between.`);
  return el("div", {},
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Differences" }, table),
    el("p", { class: "explain" }, notes.join(" ")));
}

// The two sides and their table; `sides` are laid out anew at each call of show().
export class Comparison {
  readonly element = el("div", { class: "comparison" });
  private strips: Strip[] = [];
  private grouping: Grouping = "operations";

  constructor() {
    onThemeChange(() => this.strips.forEach((strip) => strip.draw()));
  }

  show(a: Side, b: Side): void {
    const length = Math.max(a.end - a.begin, b.end - b.begin, 1);
    this.strips = [a, b].map((side) => new Strip(side, length, (strip) => this.follow(strip)));
    const zoom = (factor: number) => {
      const { view } = this.strips[0];
      view.zoom(factor, (view.begin + view.end) / 2);
      this.follow(this.strips[0]);
    };
    const table = el("div", {}, differences(a, b, this.grouping));
    const groups: [Grouping, string][] =
      [["operations", "Operations"], ["layers", "Layers"], ["names", "What ran"]];
    const choose = choice("Table of", groups, this.grouping, (value) => {
      this.grouping = value as Grouping;
      table.replaceChildren(differences(a, b, this.grouping));
    });
    const head = (side: Side) => el("h3", {}, `${side.title}: ${formatNs(side.end - side.begin)}`);
    this.element.replaceChildren(
      head(a), this.strips[0].pane, head(b), this.strips[1].pane,
      el("div", { class: "controls" },
        button("Whole steps", () => zoom(1e9)),
        button("+", () => zoom(0.5), { "aria-label": "Zoom in on both" }),
        button("\u2212", () => zoom(2), { "aria-label": "Zoom out of both" }), choose),
      table);
    this.strips.forEach((strip) => strip.draw());
  }

  // Both show the same time from their begins.
  private follow(leader: Strip): void {
    const { begin, end } = leader.view;
    for (const strip of this.strips) {
      const shift = strip.side.begin - leader.side.begin;
      if (strip !== leader) strip.view.show(begin + shift, end + shift);
      strip.draw();
    }
  }
}

interface Choice { run: Run; lane: Lane; step: StepMark }

// A list of the steps with spans, and a field for the number of any other step.
class Chooser {
  readonly element: HTMLElement;
  private readonly list: HTMLSelectElement;
  private readonly number = el("input", { type: "number", placeholder: "or its number" });

  constructor(
    name: string, private run: Run, private choices: Choice[], readonly chosen: () => void,
  ) {
    this.list = el("select", { "aria-label": `${name}: steps with spans` });
    for (const { lane, step } of choices) {
      const detail = windowOfStep(run.model, lane, step)?.detail.title ?? "";
      const title = `${step.kind} ${step.step}`;
      const words = detail.startsWith(title) ? detail : title;
      this.list.append(el("option", {}, run.model.lanes.length > 1
        ? `${words} of ${lane.title}` : words));
    }
    this.list.addEventListener("change", () => { this.number.value = ""; chosen(); });
    this.number.setAttribute("aria-label", `${name}: number of any step`);
    this.number.addEventListener("change", chosen);
    this.element = el("span", { class: "chooser" }, el("b", {}, name), this.list, this.number);
  }

  choose(index: number): void {
    this.list.selectedIndex = Math.min(index, this.choices.length - 1);
  }

  // Undefined where there is no step of that number.
  side(): Side | undefined {
    const { run, lane, step } = this.choices[Math.max(0, this.list.selectedIndex)];
    if (this.number.value === "") return sideOf(run, lane, step);
    const wanted = Number(this.number.value);
    // Numbers may repeat, by kind or in time: one of the chosen step's kind, and near to it.
    const away = (s: StepMark) =>
      (s.kind === step.kind ? 0 : 1e18) + Math.abs(s.begin - step.begin);
    const other = lane.steps.filter((s) => s.step === wanted)
      .sort((a, b) => away(a) - away(b))[0];
    return other ? sideOf(this.run, lane, other) : undefined;
  }
}

function choicesOf(run: Run): Choice[] {
  const all: Choice[] = [];
  for (const { detail } of run.model.windows) {
    const lane = run.model.lanes.find(({ process }) => process.id === detail.process);
    const inside = lane?.steps.filter((s) =>
      detail.begin <= s.begin && s.end <= detail.end && !s.control) ?? [];
    for (const step of inside.slice(0, 200)) if (lane) all.push({ run, lane, step });
  }
  return all;
}

// Fills the section; `runs` has one run, or two whose steps are held against each other. Where
// there are no two steps with spans, the section stays hidden.
export function addComparison(section: HTMLElement, runs: Run[]): void {
  const [one, two] = [runs[0], runs[runs.length - 1]];
  const choices = [choicesOf(one), choicesOf(two)];
  if (choices[0].length === 0 || choices[1].length < (runs.length > 1 ? 1 : 2)) return;
  section.hidden = false;
  const comparison = new Comparison();
  const missing = el("p", { class: "note", role: "status" });
  const update = () => {
    const [a, b] = choosers.map((chooser) => chooser.side());
    missing.textContent = a && b ? "" : "This page draws no step of that number; the table of " +
      "steps has all numbers.";
    if (a && b) comparison.show(a, b);
  };
  const titles = runs.length > 1 ? runs.map(({ title }) => title) : ["First", "Second"];
  const choosers = titles.map((title, i) =>
    new Chooser(title, i ? two : one, choices[i], update));
  if (runs.length === 1) choosers[1].choose(1);
  section.append(
    el("p", { class: "explain" }, "Two steps with one time scale from their begins, and what " +
      "differs. The shaded part is the step; what follows it is drawn, too."),
    el("div", { class: "controls" }, ...choosers.map(({ element }) => element)),
    missing, comparison.element);
  update();
}
