// The timeline of processes and threads: puts its parts together and knows what is seen, pinned
// and chosen.
import { Detail, PageData, Timeline } from "./data";
import { button, el, fitCanvas } from "./dom";
import { formatCount, formatNs } from "./format";
import { onThemeChange } from "./layers";
import { Overview } from "./overview";
import { drawTimeline, Frame, rulerHeight } from "./timeline_draw";
import { find, Found } from "./timeline_hover";
import { Input, InputTarget } from "./timeline_input";
import { isMixed, laneOf, modelOf, Model, Span, StepMark, windowOfStep } from "./timeline_model";
import { forgetColours } from "./timeline_paint";
import { rowUnder, View } from "./timeline_view";
import { hideTip, say, showTip } from "./tooltip";

const help = "Ctrl and the wheel zoom, or two fingers; drag to move; click a span to pin it, " +
  "double-click to fill the width with it; Shift and drag to sum up a range. Keys: + and \u2212 " +
  "zoom, arrows move, N and P go to the next and the previous step, Enter pins a span, Escape " +
  "lets go, 0 shows the whole run.";

export interface Chosen { begin: number; end: number; lane: number; track: number }

// What hears of the chart.
export interface Listeners {
  pinned(found: Found | null): void;
  chosen(range: Chosen | null): void;
}

// "all 2,597 spans", "6,000 of 15,571 spans".
function spansOf({ tracks }: Detail): string {
  const kept = tracks.reduce((sum, track) => sum + track.at.length, 0);
  const cut = tracks.reduce((sum, track) => sum + track.omitted, 0);
  return cut ? `the longest ${formatCount(kept)} of ${formatCount(kept + cut)} spans`
    : `all ${formatCount(kept)} spans`;
}

const buttonsShown = 2;  // details with a button of their own; the others are in a list

export class TimelineChart implements InputTarget {
  readonly model: Model;
  readonly view: View;
  readonly canvas = el("canvas", { class: "rows" });
  choosing = false;
  listeners: Listeners = { pinned: () => undefined, chosen: () => undefined };
  private readonly content = el("div", { class: "content" }, this.canvas);
  readonly pane = el("div", {
    class: "pane", tabindex: 0, role: "application",
    "aria-label": `Timeline of processes and threads. ${help}`,
  }, this.content);
  private readonly overview: Overview;
  private readonly range = el("p", { class: "range" });
  private hovered: Found | null = null;
  private pinned: Found | null = null;
  private selected: Chosen | null = null;
  private wentTo: { step: StepMark; begin: number; end: number } | null = null;
  private waiting = false;

  constructor(private section: HTMLElement, data: PageData, timeline: Timeline) {
    this.model = modelOf(data, timeline);
    this.view = new View(this.model);
    this.overview = new Overview(this.view, () => this.gutter(), () => this.moved());
    section.hidden = false;
    section.append(this.controls(), this.overview.canvas, this.pane, this.legend());
    new Input(this);
    this.pane.addEventListener("scroll", () => this.moved(), { passive: true });
    new ResizeObserver(() => this.moved()).observe(this.pane);
    onThemeChange(() => { forgetColours(); this.moved(); });
    this.moved();
  }

  // Brings a time into view, with some room around it, and the timeline onto the screen.
  reveal(begin: number, end: number): void {
    const room = (end - begin) * 0.15;
    this.view.show(begin - room, end + room);
    this.moved();
    this.section.scrollIntoView({ block: "start" });
    this.pane.focus({ preventScroll: true });
  }

  // Shows and pins a step of that lane, with its spans or with the words that say where they are.
  revealStep(lane: number, step: StepMark): void {
    this.reveal(step.begin, step.end);
    const found = this.view.rows.find((row) =>
      row.track < 0 && row.lane === this.model.lanes[lane]);
    const title = `${step.kind} ${step.step}`;
    const lines: [string, string][] =
      [["took", formatNs(step.wall)], ["from", formatNs(step.begin)]];
    const { begin, end } = step;
    if (found) this.keep({ row: found, begin, end, depth: -1, title, lines, step });
  }

  // Shows a span in its surroundings and pins it.
  revealSpan(span: Span, move = true): void {
    const { detail } = span.window;
    const lane = laneOf(this.model, detail.process);
    if (!lane) return;
    if (this.view.folded.has(lane)) this.view.toggle(lane);
    const length = Math.max(span.end - span.begin, (detail.end - detail.begin) / 200);
    if (move) this.view.show(span.begin - 2 * length, span.end + 2 * length);
    this.view.favour(span.window);
    const row = this.view.rows.find((r) =>
      r.lane === lane && r.track >= 0 && lane.tracks[r.track].track.id === span.track);
    if (!row) return;
    const room = this.pane.clientHeight - rulerHeight - 60;
    const y = row.top + 24 + span.depth * 15;
    const { scrollTop } = this.pane;
    if (y < scrollTop || y > scrollTop + room) this.pane.scrollTop = y - room / 2;
    const title = this.model.timeline.texts[span.name] ?? "";
    const { begin, end, depth } = span;
    this.keep({ row, begin, end, depth, title, lines: [], span });
    const { top, bottom } = this.pane.getBoundingClientRect();
    if (top < 0 || bottom > window.innerHeight) this.section.scrollIntoView({ block: "start" });
  }

  unpin(): void {
    if (this.pinned) this.keep(null);
    else this.chooseRange(null);
  }

  isStepKept(lane: number, step: StepMark): boolean {
    return windowOfStep(this.model, this.model.lanes[lane], step) !== undefined;
  }

  chooseRange(range: Chosen | null): void {
    this.selected = range;
    this.listeners.chosen(range);
    this.moved();
  }

  private keep(found: Found | null): void {
    this.pinned = found;
    this.listeners.pinned(found);
    this.moved();
  }

  private gutter(): number {
    return this.pane.clientWidth < 640 ? 110 : 200;
  }

  private controls(): HTMLElement {
    const bar = el("div", { class: "controls" });
    const go = (begin: number, end: number) => { this.view.show(begin, end); this.moved(); };
    const zoom = (factor: number) => {
      this.view.zoom(factor, (this.view.begin + this.view.end) / 2);
      this.moved();
    };
    const { timeline } = this.model;
    const choose = button("Sum up a range", () => {
      this.choosing = !this.choosing;
      choose.setAttribute("aria-pressed", String(this.choosing));
      this.canvas.classList.toggle("choosing", this.choosing);
    }, { "aria-pressed": "false", title: "Then drag over the timeline, or press Shift and drag" });
    bar.append(button("Whole run", () => go(timeline.begin, timeline.end)),
      button("+", () => zoom(0.5), { "aria-label": "Zoom in" }),
      button("\u2212", () => zoom(2), { "aria-label": "Zoom out" }), choose);
    timeline.details.slice(0, buttonsShown).forEach((detail) => {
      bar.append(button(detail.title, () => go(detail.begin, detail.end),
        { class: "detail", title: `${this.titleOf(detail)}: ${spansOf(detail)}` }));
    });
    if (timeline.details.length > buttonsShown) bar.append(this.detailList(go));
    bar.append(this.range);
    return bar;
  }

  private titleOf(detail: Detail): string {
    const lane = laneOf(this.model, detail.process);
    return this.model.lanes.length > 1 && lane ? `${detail.title} of ${lane.title}` : detail.title;
  }

  private detailList(go: (begin: number, end: number) => void): HTMLElement {
    const { details } = this.model.timeline;
    const list = el("select", { "aria-label": "Parts of the run with spans" },
      el("option", {}, `${details.length} parts with spans`));
    for (const detail of details) {
      list.append(el("option", {}, `${this.titleOf(detail)}: ${spansOf(detail)}`));
    }
    list.addEventListener("change", () => {
      const detail = details[list.selectedIndex - 1];
      if (detail) go(detail.begin, detail.end);
    });
    return list;
  }

  private legend(): HTMLElement {
    const { timeline, lanes } = this.model;
    const notes = [help, "\u2605 marks the lead thread, whose operations name the time; the " +
      "height of a colour is its share of that moment; colours are those of the bars above."];
    if (lanes.some(({ steps }) => isMixed(steps))) {
      notes.push("The strip at a step's foot says what was recorded of it: none, only the " +
        "boundary; thin, operators; thick, everything.");
    }
    if (timeline.omitted) {
      notes.push(`${formatCount(timeline.omitted)} less busy threads are not drawn.`);
    }
    return el("p", { class: "explain" }, notes.join(" "));
  }

  moved(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  private draw(): void {
    const limit = Math.max(240, Math.round(window.innerHeight * 0.72));
    const needed = this.view.height + rulerHeight + 6;
    this.canvas.style.height = `${Math.min(needed, limit)}px`;
    this.content.style.height = `${needed}px`;
    this.pane.style.height = `${Math.min(needed, limit)}px`;
    const { width, height } = fitCanvas(this.canvas);
    const context = this.canvas.getContext("2d");
    if (!context || width < 40) return;
    const pinned = this.pinned && { ...this.pinned, row: this.view.sameRow(this.pinned.row) };
    const frame: Frame = {
      context, width, height, gutter: this.gutter(), scroll: this.pane.scrollTop, zero: 0,
      hover: this.hovered, pinned, chosen: this.selected,
    };
    drawTimeline(frame, this.view);
    this.overview.draw();
    const from = this.view.begin ? formatNs(this.view.begin) : "0";
    this.range.textContent = `${from} to ${formatNs(this.view.end)}, ` +
      `${formatNs(this.view.span)} wide${this.cutWords()}`;
    this.canvas.dataset.begin = String(this.view.begin);
    this.canvas.dataset.end = String(this.view.end);
  }

  // What the spans in view lack.
  private cutWords(): string {
    let cut = 0;
    for (const { lane, track, window } of this.view.rows) {
      if (track >= 0) cut += window?.omitted.get(lane.tracks[track].track.id) ?? 0;
    }
    return cut ? `; of the parts with spans that are in view, ${formatCount(cut)} of the ` +
      "shortest spans of these threads are left out" : "";
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
    return y - this.canvas.getBoundingClientRect().top - rulerHeight + this.pane.scrollTop;
  }

  inLabels(x: number): boolean {
    return x - this.canvas.getBoundingClientRect().left < this.gutter();
  }

  private at(x: number, y: number, reach = 2): Found | null {
    return this.inLabels(x)
      ? null : find(this.view, this.timeAt(x), this.rowsY(y), this.perPixel() * reach);
  }

  point(x: number, y: number): void {
    this.hovered = this.at(x, y);
    if (this.hovered) showTip(this.hovered.title, this.hovered.lines, x, y);
    else hideTip();
    this.moved();
  }

  leave(): void {
    this.hovered = null;
    hideTip();
    this.moved();
  }

  pin(x: number, y: number): void {
    hideTip();
    this.keep(this.at(x, y, 6));
  }

  fold(y: number): void {
    const row = rowUnder(this.view, this.rowsY(y));
    if (row && row.track < 0) this.view.toggle(row.lane);
    this.moved();
  }

  fill(x: number, y: number): void {
    const found = this.at(x, y);
    if (!found) return;
    this.view.show(found.begin, found.end);
    this.moved();
  }

  choose(begin: number, end: number, y: number): void {
    const row = rowUnder(this.view, y) ?? this.view.rows[0];
    if (!row) return;
    const lane = this.model.lanes.indexOf(row.lane);
    this.chooseRange({
      begin: Math.max(begin, this.view.begin), end: Math.min(end, this.view.end), lane,
      track: Math.max(0, row.track),
    });
  }

  // Of the process whose row is pinned, else of all, in the order of their begins. From the step
  // that was gone to last, while it still fills the view; else from the middle of the view.
  private goStep(forward: boolean): void {
    const pinned = this.pinned?.row.lane;
    const lanes = pinned?.steps.length ? [pinned] : this.model.lanes;
    const steps = lanes.flatMap((lane) => lane.steps.map((step) => ({ lane, step })))
      .sort((a, b) => a.step.begin - b.step.begin);
    const { begin, end } = this.view;
    const last = steps.findIndex(({ step }) => step === this.wentTo?.step);
    const there = last >= 0 && this.wentTo?.begin === begin && this.wentTo.end === end;
    const whole = this.view.isWhole();
    const middle = (begin + end) / 2;
    const next = there ? steps[last + (forward ? 1 : -1)] : forward
      ? steps.find(({ step }) => whole || step.begin > middle)
      : [...steps].reverse().find(({ step }) => whole || step.end < middle);
    if (!next) return;
    const { lane, step } = next;
    this.view.show(step.begin, step.end);
    this.wentTo = { step, begin: this.view.begin, end: this.view.end };
    const several = steps.some((other) => other.lane !== lane);
    say(`${step.kind} ${step.step}${several ? ` of ${lane.title}` : ""}, ` +
      formatNs(step.end - step.begin) + (step.control ? ", control" : ""));
  }

  // The longest span that the middle of the view lies in, else the longest in view.
  private pinMiddle(): void {
    const { begin, end } = this.view;
    const middle = (begin + end) / 2;
    let best: Span | null = null;
    const worth = (span: Span) => (span.kind === 0 ? span.end - span.begin : 0) +
      (span.begin <= middle && middle < span.end ? end - begin : 0);
    for (const row of this.view.rows) {
      if (row.track < 0 || !row.window) continue;
      for (const span of row.window.spans.get(row.lane.tracks[row.track].track.id) ?? []) {
        if (span.end <= begin || span.begin >= end) continue;
        if (!best || worth(span) > worth(best)) best = span;
      }
      if (best) break;
    }
    if (best) this.revealSpan(best, false);
    else say("No span is kept here: zoom into a step with spans first.");
  }

  key(name: string): boolean {
    const actions: Record<string, () => void> = {
      n: () => this.goStep(true), p: () => this.goStep(false), Enter: () => this.pinMiddle(),
      Escape: () => this.unpin(),
    };
    actions[name]?.();
    return name in actions;
  }
}
