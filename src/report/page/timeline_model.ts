// The timeline's data, unpacked for drawing and looking up by time.
import {
  Detail, DetailTrack, Level, PageData, Timeline, TimelineProcess, titleOf, Track,
} from "./data";
import { layerNames } from "./layers";

export interface Tiles {
  tile: number;           // ns of one tile
  first: Int32Array;      // index of the first tile of each run of equal tiles
  count: Int32Array;
  level: Level;
  share: Uint8Array;      // layerNames.length per run
}

export interface Span {
  id: number;  // its index in Model.spans
  track: number;  // its id
  window: Window;
  parent: Span | null;
  self: number;  // without the kept spans inside it
  args: number;
  line: number;
  begin: number;
  end: number;
  name: number;
  depth: number;
  layer: number;
  kind: number;
}

export interface Window {
  detail: Detail;
  spans: Map<number, Span[]>;  // by track id
  depth: Map<number, number>;  // rows that the track needs
  omitted: Map<number, number>;  // so many of a track's shortest spans are left out
}

export interface StepMark {
  step: number;
  kind: string;
  begin: number;
  end: number;
  wall: number;  // without pauses
  control: boolean;
  level: number;  // 0 control, 1 boundary, 2 operators, 3 everything, 4 marks
  open: boolean;  // nobody told its end
  slow: { median: number; layers: string; grew: number } | null;  // an outlier, and in what
}

export interface Lane {
  process: TimelineProcess;
  title: string;
  steps: StepMark[];
  tracks: { track: Track; levels: Tiles[] }[];
}

export interface Model {
  timeline: Timeline;
  lanes: Lane[];
  windows: Window[];
  spans: Span[];
  leadsTo: Map<number, number[]>;     // by a span's id: where its arrows end; -1: not kept
  comesFrom: Map<number, number[]>;
}

function unpackShares(text: string, runs: number): Uint8Array {
  const width = layerNames.length;
  const share = new Uint8Array(runs * width);
  let run = 0;
  for (let at = 0; at < text.length && run < runs;) {
    if (text[at] === ",") {
      ++run;
      ++at;
      continue;
    }
    const layer = text.charCodeAt(at) - 96;
    share[run * width + layer] = parseInt(text.slice(at + 1, at + 3), 16);
    at += 3;
  }
  return share;
}

function unpackLevel(level: Level): Tiles {
  const first = new Int32Array(level.skip.length);
  const count = Int32Array.from(level.count);
  let next = 0;
  for (let i = 0; i < first.length; ++i) {
    first[i] = next + level.skip[i];
    next = first[i] + count[i];
  }
  return { tile: level.tile, first, count, level, share: unpackShares(level.share, first.length) };
}

function unpackTrack(track: DetailTrack, window: Window, all: Span[]): void {
  let at = window.detail.begin;
  let deepest = -1;
  const open: Span[] = [];
  const spans = track.at.map((step, i) => {
    at += step;
    const end = at + track.ns[i];
    deepest = Math.max(deepest, track.depth[i]);
    while (open.length && (open[open.length - 1].depth >= track.depth[i] ||
        open[open.length - 1].end < end)) open.pop();
    const span: Span = {
      id: all.length, track: track.id, window, parent: open[open.length - 1] ?? null, begin: at,
      end, self: track.ns[i], name: track.name[i], depth: track.depth[i], layer: track.layer[i],
      kind: track.kind[i], args: track.args?.[i] ?? -1, line: track.line?.[i] ?? 0,
    };
    if (span.parent) span.parent.self -= track.ns[i];
    open.push(span);
    all.push(span);
    return span;
  });
  window.spans.set(track.id, spans);
  window.depth.set(track.id, deepest + 1);
  window.omitted.set(track.id, track.omitted);
}

function unpackWindow(detail: Detail, all: Span[]): Window {
  const window: Window = { detail, spans: new Map(), depth: new Map(), omitted: new Map() };
  for (const track of detail.tracks) unpackTrack(track, window, all);
  return window;
}

function arrows(starts: number[], ends: number[]): Map<number, number[]> {
  const all = new Map<number, number[]>();
  starts.forEach((start, i) => {
    const list = all.get(start) ?? [];
    list.push(ends[i]);
    all.set(start, list);
  });
  return all;
}

function markOutliers(data: PageData, marks: Map<string, StepMark[]>): void {
  const outliers = data.outliers;
  for (let row = 0; outliers && row < outliers.rows; ++row) {
    const kind = outliers.kind ? data.texts[outliers.kind[row]] : null;
    // Where numbers repeat, the longest: that is what makes it an outlier.
    const mark = marks.get(data.texts[outliers.process[row]])
      ?.filter((m) => m.step === outliers.step[row] && (kind === null || m.kind === kind) &&
        m.slow === null)
      .reduce<StepMark | null>((best, m) => (best && best.wall >= m.wall ? best : m), null);
    if (!mark) continue;
    mark.slow = {
      median: outliers.median_ns[row] ?? 0,
      layers: data.texts[outliers.layers[row]],
      grew: outliers.grew_ns[row] ?? 0,
    };
  }
}

// Whether the steps were recorded at different levels, control steps aside.
export function isMixed(steps: StepMark[]): boolean {
  const first = steps.find((s) => !s.control);
  return steps.some((s) => !s.control && s.level !== first?.level);
}

const recorded = ["nothing: a control step", "the boundary", "operators", "everything",
  "what the program marks: left out by the budget"];
export const recordedAt = (level: number): string => recorded[level] ?? recorded[3];

export function stepsByProcess(data: PageData): Map<string, StepMark[]> {
  const marks = new Map<string, StepMark[]>();
  const steps = data.steps;
  for (let row = 0; steps && row < steps.rows; ++row) {
    const begin = steps.begin_ns[row];
    const end = steps.end_ns[row];
    if (begin === null || end === null) continue;
    const process = data.texts[steps.process[row]];
    const list = marks.get(process) ?? [];
    marks.set(process, list);
    list.push({
      step: steps.step[row] ?? row,
      kind: steps.kind ? data.texts[steps.kind[row]] : "step",
      begin,
      end,
      wall: steps.wall_ns?.[row] ?? end - begin,
      control: steps.control?.[row] === 1,
      level: steps.level?.[row] ?? 3,
      open: steps.open?.[row] === 1,
      slow: null,
    });
  }
  markOutliers(data, marks);
  return marks;
}

export function modelOf(data: PageData, timeline: Timeline): Model {
  const steps = stepsByProcess(data);
  const lanes = timeline.processes.map((process) => ({
    process,
    title: titleOf(data, process.name),
    steps: steps.get(process.name) ?? [],
    tracks: process.tracks.map((track) => ({ track, levels: track.levels.map(unpackLevel) })),
  }));
  const spans: Span[] = [];
  const windows = timeline.details.map((detail) => unpackWindow(detail, spans));
  return {
    timeline, lanes, windows, spans,
    leadsTo: arrows(timeline.from, timeline.to), comesFrom: arrows(timeline.to, timeline.from),
  };
}

export const laneOf = (model: Model, process: number): Lane | undefined =>
  model.lanes.find((lane) => lane.process.id === process);

// The window that holds the spans of a step, if the page keeps them.
export function windowOfStep(model: Model, lane: Lane, step: StepMark): Window | undefined {
  return model.windows.find(({ detail }) => detail.process === lane.process.id &&
    detail.begin <= step.begin && step.end <= detail.end);
}

// The coarsest level whose tiles are at most `wanted` ns, else the finest.
export function levelFor(levels: Tiles[], wanted: number): Tiles | undefined {
  return levels.find((level) => level.tile <= wanted) ?? levels[levels.length - 1];
}

// The run of tiles at or after tile `index`.
export function runAt(tiles: Tiles, index: number): number {
  let low = 0;
  let high = tiles.first.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tiles.first[middle] + tiles.count[middle] <= index) low = middle + 1;
    else high = middle;
  }
  return low;
}
