// What a thread did in a range of time, summed: from the exact spans where the page keeps them,
// from the timeline's tiles elsewhere.
import { layerNames } from "./layers";
import { Lane, Model, runAt, Span, Tiles, Window } from "./timeline_model";

export interface Sums {
  wall: number;
  estimated: number;  // so much of wall comes from tiles: names are those of a tile's largest part
  omitted: number;    // so many of the shortest spans are left out; their time is their parents'
  layers: Map<string, number>;
  operations: Map<string, number>;
  names: Map<string, number>;  // by the innermost span
}

export const noOperation = "(no operation)";
export const noSpan = "(no span)";
const nothingKnown = "(nothing known)";

const add = (to: Map<string, number>, key: string, ns: number) =>
  to.set(key, (to.get(key) ?? 0) + ns);

class Summing {
  readonly sums: Sums = {
    wall: 0, estimated: 0, omitted: 0, layers: new Map(), operations: new Map(), names: new Map(),
  };

  constructor(private model: Model, private lane: Lane, private track: number) {}

  private text(index: number, none: string): string {
    return this.model.timeline.texts[index] ?? none;
  }

  // The time from `begin` on that no earlier call had, up to `end`.
  addSpans(window: Window, begin: number, end: number): void {
    const { track } = this.lane.tracks[this.track];
    const open: Span[] = [];
    let at = begin;
    const until = (time: number) => {
      const to = Math.min(time, end);
      if (to <= at) return;
      if (open.length === 0) this.addTiles(at, to);
      else this.addInside(open, to - at);
      at = to;
    };
    const close = (time: number) => {
      while (open.length && open[open.length - 1].end <= time) {
        until(open[open.length - 1].end);
        open.pop();
      }
    };
    for (const span of window.spans.get(track.id) ?? []) {
      if (span.begin >= end) break;
      if (span.end <= begin) continue;
      close(span.begin);
      until(span.begin);
      open.push(span);
    }
    close(end);
    until(end);
    this.sums.omitted += window.omitted.get(track.id) ?? 0;
  }

  private addInside(open: Span[], ns: number): void {
    let operation: Span | undefined;
    for (const span of open) if (span.kind === 1) operation = span;
    const inner = open[open.length - 1];
    add(this.sums.layers, inner.layer ? layerNames[inner.layer] : nothingKnown, ns);
    add(this.sums.operations, operation ? this.text(operation.name, "") : noOperation, ns);
    add(this.sums.names, inner.kind === 0 ? this.text(inner.name, noSpan) : noSpan, ns);
  }

  addTiles(begin: number, end: number): void {
    const { levels } = this.lane.tracks[this.track];
    const tiles = levels[levels.length - 1];
    this.sums.estimated += end - begin;
    let known = 0;
    if (tiles) {
      const first = runAt(tiles, Math.floor(begin / tiles.tile));
      for (let run = first; run < tiles.first.length; ++run) {
        const from = tiles.first[run] * tiles.tile;
        if (from >= end) break;
        const to = from + tiles.count[run] * tiles.tile;
        known += this.addTile(tiles, run, Math.min(to, end) - Math.max(from, begin));
      }
    }
    const rest = end - begin - known;
    if (rest <= 0.5) return;
    add(this.sums.layers, nothingKnown, rest);
    add(this.sums.operations, noOperation, rest);
    add(this.sums.names, noSpan, rest);
  }

  private addTile(tiles: Tiles, run: number, ns: number): number {
    const width = layerNames.length;
    let known = 0;
    for (let layer = 1; layer < width; ++layer) {
      const part = (ns * tiles.share[run * width + layer]) / 255;
      if (part <= 0) continue;
      known += part;
      add(this.sums.layers, layerNames[layer], part);
    }
    add(this.sums.operations, this.text(tiles.level.op[run], noOperation), known);
    add(this.sums.names, this.text(tiles.level.name[run], noSpan), known);
    return known;
  }
}

// `track` is an index into lane.tracks. The parts of each map add up to the range's length.
export function sumsOf(
  model: Model, lane: Lane, track: number, [begin, end]: [number, number],
): Sums {
  const summing = new Summing(model, lane, track);
  let at = begin;
  const windows = model.windows.filter(({ detail }) => detail.process === lane.process.id)
    .sort((a, b) => a.detail.begin - b.detail.begin);
  for (const window of windows) {
    const from = Math.max(at, window.detail.begin);
    const to = Math.min(end, window.detail.end);
    if (to <= from) continue;
    if (from > at) summing.addTiles(at, from);
    summing.addSpans(window, from, to);
    at = to;
  }
  if (at < end) summing.addTiles(at, end);
  summing.sums.wall = end - begin;
  return summing.sums;
}
