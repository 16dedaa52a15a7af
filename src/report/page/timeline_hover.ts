// What lies under a point of the timeline, in words.
import { formatCount, formatNs, formatPercent } from "./format";
import { layerNames } from "./layers";
import { isMixed, levelFor, recordedAt, runAt, Span, StepMark, Tiles } from "./timeline_model";
import { Row, rowUnder, spanHeight, trackHeight, View } from "./timeline_view";
import { Lines } from "./tooltip";

export interface Found {
  row: Row;
  begin: number;
  end: number;
  depth: number;  // of an exact span; -1: tiles or a step
  title: string;
  lines: Lines;
  span?: Span;
  step?: StepMark;
}

// `y` from the top of all rows, `tolerance` in ns.
export function find(view: View, at: number, y: number, tolerance: number): Found | null {
  const row = rowUnder(view, y);
  if (!row) return null;
  if (row.track < 0) return findStep(row, at, tolerance);
  const inside = y - row.top - trackHeight;
  if (inside >= 0 && row.window) {
    return findSpan(view, row, at, Math.floor(inside / spanHeight), tolerance);
  }
  return findTile(view, row, at, tolerance);
}

// The one that `at` lies in, else the nearest within `tolerance`; of several the latest to begin.
function nearestStep(steps: StepMark[], at: number, tolerance: number): StepMark | null {
  let best: StepMark | null = null;
  let distance = tolerance;
  for (const step of steps) {
    const away = at < step.begin ? step.begin - at : at >= step.end ? at - step.end : 0;
    if (away > distance || (away === distance && best && step.begin < best.begin)) continue;
    distance = away;
    best = step;
  }
  return best;
}

function findStep(row: Row, at: number, tolerance: number): Found | null {
  const { process, steps } = row.lane;
  const step = nearestStep(steps, at, tolerance);
  if (step) {
    const lines: Lines = [
      ["took", formatNs(step.wall)],
      ["from", formatNs(step.begin)],
    ];
    if (step.control) lines.push(["", "control step: the probes were off"]);
    else if (isMixed(steps)) lines.push(["recorded", recordedAt(step.level)]);
    const { begin, end } = step;
    return { row, begin, end, depth: -1, title: `${step.kind} ${step.step}`, lines, step };
  }
  const pause = process.paused.find(([begin, end]) => begin <= at && at < end);
  if (pause) {
    const [begin, end] = pause;
    const lines: Lines = [["", "recording was paused here"], ["for", formatNs(end - begin)]];
    return { row, begin, end, depth: -1, title: row.lane.title, lines };
  }
  if (at < process.begin || at > process.end) return null;
  return {
    row, begin: process.begin, end: process.end, depth: -1, title: row.lane.title,
    lines: [["lived", formatNs(process.end - process.begin)],
      ["threads", formatCount(row.lane.tracks.length)]],
  };
}

function findSpan(
  view: View, row: Row, at: number, depth: number, tolerance: number,
): Found | null {
  const { track } = row.lane.tracks[row.track];
  let best: Span | null = null;
  let distance = tolerance;
  for (const span of row.window?.spans.get(track.id) ?? []) {
    if (span.begin > at + tolerance) break;
    if (span.depth !== depth || span.end < at - tolerance) continue;
    const away = at < span.begin ? span.begin - at : at >= span.end ? at - span.end : 0;
    if (away <= distance) {
      distance = away;
      best = span;
    }
  }
  if (!best) return null;
  const kinds = ["", "operation", "step", "phase"];
  const lines: Lines = [
    ["took", formatNs(best.end - best.begin)],
    ["layer", layerNames[best.layer]],
    ["from", formatNs(best.begin)],
    ["thread", track.name],
  ];
  if (best.layer === 0) lines.splice(1, 1);
  if (kinds[best.kind]) lines.unshift(["", kinds[best.kind]]);
  const title = view.model.timeline.texts[best.name] ?? "";
  return { row, begin: best.begin, end: best.end, depth, title, lines, span: best };
}

function findTile(view: View, row: Row, at: number, tolerance: number): Found | null {
  const { track, levels } = row.lane.tracks[row.track];
  const tiles = levelFor(levels, 2 * tolerance);
  if (!tiles) return null;
  const index = Math.floor(at / tiles.tile);
  const run = runAt(tiles, index);
  if (run >= tiles.first.length || tiles.first[run] > index) {
    if (at < track.begin || at > track.end) return null;
    const begin = index * tiles.tile;
    return {
      row, begin, end: begin + tiles.tile, depth: -1, title: track.name,
      lines: [["", "nothing known here"], ["at", formatNs(at)]],
    };
  }
  const texts = view.model.timeline.texts;
  const begin = tiles.first[run] * tiles.tile;
  const end = begin + tiles.count[run] * tiles.tile;
  const name = texts[tiles.level.name[run]] ?? track.name;
  const lines: Lines = [];
  const operation = texts[tiles.level.op[run]];
  if (operation !== undefined) lines.push(["operation", operation]);
  lines.push(...shares(tiles, run));
  lines.push(["spans", formatCount(tiles.level.spans[run])]);
  lines.push(["these", formatNs(end - begin)], ["from", formatNs(begin)], ["thread", track.name]);
  return { row, begin, end, depth: -1, title: name, lines };
}

function shares(tiles: Tiles, run: number): Lines {
  const width = layerNames.length;
  return [...tiles.share.subarray(run * width, (run + 1) * width)]
    .map((share, layer) => ({ share, layer }))
    .filter(({ share }) => share > 0)
    .sort((a, b) => b.share - a.share)
    .map(({ share, layer }) => [layerNames[layer], formatPercent(share, 255)]);
}
