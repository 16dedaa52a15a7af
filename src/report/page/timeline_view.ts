// What part of the timeline is seen: a range of time and the rows below one another.
import { Lane, Model, Window } from "./timeline_model";

export interface Row {
  lane: Lane;
  track: number;       // index into lane.tracks; -1: the process's own row, with its steps
  top: number;
  height: number;
  window: Window | null;  // exact spans to draw below the tiles
}

export const processHeight = 30;
export const trackHeight = 24;
export const spanHeight = 15;
const shortest = 2000;  // ns that fill the whole width at most

export class View {
  begin: number;
  end: number;
  rows: Row[] = [];
  height = 0;
  readonly folded = new Set<Lane>();
  private favoured: Window | null = null;

  constructor(readonly model: Model) {
    this.begin = model.timeline.begin;
    this.end = model.timeline.end;
    this.layout();
  }

  get span(): number {
    return this.end - this.begin;
  }

  show(begin: number, end: number): void {
    const { timeline } = this.model;
    const whole = timeline.end - timeline.begin;
    const span = Math.min(Math.max(end - begin, Math.min(shortest, whole)), whole);
    const middle = (begin + end) / 2;
    this.begin = Math.min(Math.max(middle - span / 2, timeline.begin), timeline.end - span);
    this.end = this.begin + span;
    this.layout();
  }

  zoom(factor: number, at: number): void {
    const span = this.span * factor;
    const place = (at - this.begin) / this.span;
    this.show(at - place * span, at + (1 - place) * span);
  }

  pan(ns: number): void {
    this.show(this.begin + ns, this.end + ns);
  }

  whole(): void {
    this.show(this.model.timeline.begin, this.model.timeline.end);
  }

  isWhole(): boolean {
    const { timeline } = this.model;
    return this.span >= (timeline.end - timeline.begin) * 0.9999;
  }

  toggle(lane: Lane): void {
    if (!this.folded.delete(lane)) this.folded.add(lane);
    this.layout();
  }

  // Draws the spans of this window while it is in view, however little of it.
  favour(window: Window): void {
    this.favoured = window;
    this.layout();
  }

  // The row that `row` of an earlier layout is now.
  sameRow(row: Row): Row {
    return this.rows.find((r) => r.lane === row.lane && r.track === row.track) ?? row;
  }

  // The detail window of a process that fills a good part of the view.
  private windowOf(lane: Lane): Window | null {
    const favoured = this.favoured?.detail;
    if (favoured?.process === lane.process.id && favoured.begin < this.end &&
      favoured.end > this.begin && favoured.end - favoured.begin > this.span * 0.05) {
      return this.favoured;
    }
    let best: Window | null = null;
    let covered = this.span * 0.3;
    for (const window of this.model.windows) {
      if (window.detail.process !== lane.process.id) continue;
      const { begin, end } = window.detail;
      const seen = Math.min(this.end, end) - Math.max(this.begin, begin);
      if (seen > covered) {
        covered = seen;
        best = window;
      }
    }
    return best;
  }

  private layout(): void {
    this.rows = [];
    let top = 0;
    const add = (lane: Lane, track: number, height: number, window: Window | null) => {
      this.rows.push({ lane, track, top, height, window });
      top += height;
    };
    for (const lane of this.model.lanes) {
      add(lane, -1, processHeight, null);
      if (this.folded.has(lane)) continue;
      const window = this.windowOf(lane);
      lane.tracks.forEach(({ track }, index) => {
        const depth = window?.depth.get(track.id) ?? 0;
        add(lane, index, trackHeight + (depth ? depth * spanHeight + 4 : 0), depth ? window : null);
      });
    }
    this.height = top;
  }
}

// The row at `y` from the top of all rows.
export function rowUnder(view: View, y: number): Row | undefined {
  return view.rows.find((row) => y >= row.top && y < row.top + row.height);
}
