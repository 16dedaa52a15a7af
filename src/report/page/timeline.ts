// The timeline of processes and threads: puts its parts together and hears mouse and keyboard.
import { PageData, Timeline } from "./data";
import { button, el, fitCanvas } from "./dom";
import { formatCount, formatNs } from "./format";
import { onThemeChange } from "./layers";
import { Overview } from "./overview";
import { drawTimeline, Frame, rulerHeight } from "./timeline_draw";
import { find, Found } from "./timeline_hover";
import { isMixed, modelOf } from "./timeline_model";
import { forgetColours } from "./timeline_paint";
import { View } from "./timeline_view";
import { hideTip, say, showTip } from "./tooltip";

const help = "Scroll to zoom, drag to move, double-click a span to fill the width with it. " +
  "Keys: + and \u2212 zoom, arrows move, N and P go to the next and the previous step, " +
  "0 shows the whole run.";

export class TimelineChart {
  private readonly view: View;
  private readonly canvas = el("canvas", { class: "rows" });
  private readonly content = el("div", { class: "content" }, this.canvas);
  private readonly pane = el("div", {
    class: "pane", tabindex: 0, role: "application",
    "aria-label": `Timeline of processes and threads. ${help}`,
  }, this.content);
  private readonly overview: Overview;
  private readonly range = el("p", { class: "range" });
  private readonly hint =
    el("p", { class: "hint" }, "Click first, or hold Ctrl, to zoom by scrolling");
  private found: Found | null = null;
  private waiting = false;

  constructor(private section: HTMLElement, data: PageData, timeline: Timeline) {
    this.view = new View(modelOf(data, timeline));
    this.overview = new Overview(this.view, () => this.gutter(), () => this.changed());
    this.hint.hidden = true;
    section.hidden = false;
    section.append(this.controls(), this.overview.canvas, this.pane, this.hint, this.legend());
    this.listen();
    new ResizeObserver(() => this.changed()).observe(this.pane);
    onThemeChange(() => { forgetColours(); this.changed(); });
    this.changed();
  }

  // Brings a time into view, with some room around it, and the timeline onto the screen.
  reveal(begin: number, end: number): void {
    const room = (end - begin) * 0.15;
    this.view.show(begin - room, end + room);
    this.changed();
    this.section.scrollIntoView({ block: "start" });
    this.pane.focus({ preventScroll: true });
  }

  private gutter(): number {
    return this.pane.clientWidth < 640 ? 110 : 200;
  }

  private controls(): HTMLElement {
    const bar = el("div", { class: "controls" });
    const go = (begin: number, end: number) => { this.view.show(begin, end); this.changed(); };
    const { timeline, lanes } = this.view.model;
    bar.append(
      button("Whole run", () => go(timeline.begin, timeline.end)),
      button("+", () => this.zoomMiddle(0.5), { "aria-label": "Zoom in" }),
      button("\u2212", () => this.zoomMiddle(2), { "aria-label": "Zoom out" }));
    for (const detail of timeline.details) {
      const lane = lanes.find(({ process }) => process.id === detail.process);
      const title = lanes.length > 1 && lane
        ? `${detail.title} of ${lane.title}: every span` : `${detail.title}: every span`;
      const show = () => go(detail.begin, detail.end);
      bar.append(button(detail.title, show, { class: "detail", title }));
    }
    bar.append(this.range);
    return bar;
  }

  private legend(): HTMLElement {
    const { timeline, lanes } = this.view.model;
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

  private changed(): void {
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
    const frame: Frame = {
      context, width, height, gutter: this.gutter(), scroll: this.pane.scrollTop, hover: this.found,
    };
    drawTimeline(frame, this.view);
    this.overview.draw();
    const from = this.view.begin ? formatNs(this.view.begin) : "0";
    this.range.textContent = `${from} to ${formatNs(this.view.end)}, ` +
      `${formatNs(this.view.span)} wide`;
    this.canvas.dataset.begin = String(this.view.begin);
    this.canvas.dataset.end = String(this.view.end);
  }

  private timeAt(event: MouseEvent): number {
    const { left, width } = this.canvas.getBoundingClientRect();
    const gutter = this.gutter();
    return this.view.begin + ((event.clientX - left - gutter) / (width - gutter)) * this.view.span;
  }

  private perPixel(): number {
    return this.view.span / Math.max(1, this.canvas.clientWidth - this.gutter());
  }

  private rowsY(event: MouseEvent): number {
    return event.clientY - this.canvas.getBoundingClientRect().top - rulerHeight +
      this.pane.scrollTop;
  }

  private inLabels(event: MouseEvent): boolean {
    return event.clientX - this.canvas.getBoundingClientRect().left < this.gutter();
  }

  private listen(): void {
    this.pane.addEventListener("scroll", () => this.changed(), { passive: true });
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("dblclick", (event) => this.fill(event));
    this.pane.addEventListener("keydown", (event) => this.key(event));
  }

  private wheel(event: WheelEvent): void {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.view.pan((event.deltaX || event.deltaY) * this.perPixel());
    } else if (event.ctrlKey || event.metaKey || document.activeElement === this.pane) {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 33 : 1;
      this.view.zoom(Math.exp(Math.max(-300, Math.min(300, event.deltaY * lines)) / 400),
        this.timeAt(event));
    } else {
      this.hint.hidden = false;
      return;
    }
    this.hint.hidden = true;
    this.found = null;
    hideTip();
    this.changed();
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.pane.focus({ preventScroll: true });
    this.hint.hidden = true;
    if (this.inLabels(event)) {
      const y = this.rowsY(event);
      const row = this.view.rows.find((r) => r.track < 0 && y >= r.top && y < r.top + r.height);
      if (row) this.view.toggle(row.lane);
      this.changed();
      return;
    }
    let last = event;
    this.canvas.setPointerCapture(event.pointerId);
    const moved = (next: PointerEvent) => {
      this.view.pan((last.clientX - next.clientX) * this.perPixel());
      this.pane.scrollTop += last.clientY - next.clientY;
      last = next;
      this.canvas.classList.add("dragging");
      this.changed();
    };
    const done = () => {
      this.canvas.classList.remove("dragging");
      this.canvas.removeEventListener("pointermove", moved);
      for (const end of ["pointerup", "pointercancel"]) this.canvas.removeEventListener(end, done);
    };
    this.canvas.addEventListener("pointermove", moved);
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, done);
  }

  private hover(event: PointerEvent): void {
    const dragging = this.canvas.classList.contains("dragging");
    this.found = dragging || this.inLabels(event)
      ? null : find(this.view, this.timeAt(event), this.rowsY(event), this.perPixel() * 2);
    if (this.found) showTip(this.found.title, this.found.lines, event.clientX, event.clientY);
    else hideTip();
    this.changed();
  }

  private leave(): void {
    this.found = null;
    hideTip();
    this.changed();
  }

  private fill(event: MouseEvent): void {
    const found = find(this.view, this.timeAt(event), this.rowsY(event), this.perPixel() * 2);
    if (!found) return;
    this.view.show(found.begin, found.end);
    this.changed();
  }

  private zoomMiddle(factor: number): void {
    this.view.zoom(factor, (this.view.begin + this.view.end) / 2);
    this.changed();
  }

  private goStep(forward: boolean): void {
    const lane = this.view.model.lanes.find((l) => l.steps.length > 0);
    if (!lane) return;
    const middle = (this.view.begin + this.view.end) / 2;
    const whole = this.view.isWhole();
    const next = forward
      ? lane.steps.find((s) => whole || s.begin > middle)
      : [...lane.steps].reverse().find((s) => whole || s.end < middle);
    if (!next) return;
    this.view.show(next.begin, next.end);
    say(`${next.kind} ${next.step}, ${formatNs(next.end - next.begin)}` +
      (next.control ? ", control" : ""));
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Record<string, () => void> = {
      "+": () => this.zoomMiddle(0.6), "=": () => this.zoomMiddle(0.6),
      w: () => this.zoomMiddle(0.6),
      "-": () => this.zoomMiddle(1 / 0.6), s: () => this.zoomMiddle(1 / 0.6),
      ArrowLeft: () => this.view.pan(-this.view.span / 8),
      a: () => this.view.pan(-this.view.span / 8),
      ArrowRight: () => this.view.pan(this.view.span / 8),
      d: () => this.view.pan(this.view.span / 8),
      ArrowUp: () => { this.pane.scrollTop -= 48; },
      ArrowDown: () => { this.pane.scrollTop += 48; },
      0: () => this.view.whole(), Home: () => this.view.whole(),
      n: () => this.goStep(true), p: () => this.goStep(false),
      Escape: () => { this.leave(); this.pane.blur(); },
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
    this.found = null;
    hideTip();
    this.changed();
  }
}
