// Draws the timeline's rows, ruler and labels on a canvas.
import { formatMark, roundStep } from "./format";
import { cssColour, layerColour, layerNames, stackOrder } from "./layers";
import { isMixed, Lane, levelFor, runAt, Span, Tiles } from "./timeline_model";
import { fit, font, inkOn, paintOf } from "./timeline_paint";
import { processHeight, Row, spanHeight, trackHeight, View } from "./timeline_view";

export const rulerHeight = 26;

export interface Frame {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  gutter: number;   // width of the labels
  scroll: number;   // rows above are scrolled away
  zero: number;     // the ruler counts from this time on
  hover: Place | null;
  pinned: Place | null;
  chosen: { begin: number; end: number } | null;
}

export interface Place { row: Row; begin: number; end: number; depth: number }

const stacked = stackOrder.map((name) => layerNames.indexOf(name)).filter((layer) => layer > 0);

export function drawTimeline(frame: Frame, view: View): void {
  const { context, width, height, gutter, scroll } = frame;
  context.fillStyle = cssColour("surface");
  context.fillRect(0, 0, width, height);
  context.textBaseline = "middle";
  const scale = (width - gutter) / view.span;
  const x = (ns: number) => gutter + (ns - view.begin) * scale;
  context.save();
  context.beginPath();
  context.rect(0, rulerHeight, width, height - rulerHeight);
  context.clip();
  drawGrid(frame, view, x);
  for (const row of view.rows) {
    const top = row.top - scroll + rulerHeight;
    if (top + row.height < rulerHeight || top > height) continue;
    context.save();
    context.beginPath();
    context.rect(gutter, top, width - gutter, row.height);
    context.clip();
    if (row.track < 0) drawSteps(frame, row.lane, view, x, top);
    else drawTrack(frame, row, view, x, top);
    drawPauses(frame, row, x, top);
    context.restore();
    drawLabel(frame, row, view, top);
  }
  context.restore();
  drawChosen(frame, x);
  drawPlace(frame, frame.pinned, x, "accent", 2.5);
  drawPlace(frame, frame.hover, x, "ink", 1.5);
  drawRuler(frame, view, x);
}

function marks(frame: Frame, view: View): { step: number; first: number } {
  const step = roundStep((view.span * 150) / (frame.width - frame.gutter));
  const { zero } = frame;
  return { step, first: zero + Math.ceil((view.begin - zero) / step) * step };
}

function drawGrid(frame: Frame, view: View, x: (ns: number) => number): void {
  const { step, first } = marks(frame, view);
  frame.context.fillStyle = cssColour("grid");
  for (let at = first; at <= view.end; at += step) {
    frame.context.fillRect(Math.round(x(at)), rulerHeight, 1, frame.height);
  }
}

function drawRuler(frame: Frame, view: View, x: (ns: number) => number): void {
  const { context, width, gutter } = frame;
  context.fillStyle = cssColour("surface");
  context.fillRect(0, 0, width, rulerHeight);
  context.fillStyle = cssColour("line");
  context.fillRect(0, rulerHeight - 1, width, 1);
  context.font = font(11);
  context.fillStyle = cssColour("soft");
  const { step, first } = marks(frame, view);
  for (let at = first; at <= view.end; at += step) {
    const text = formatMark(at - frame.zero, step, Math.max(view.span, at - frame.zero));
    const place = Math.round(x(at));
    context.fillRect(place, rulerHeight - 6, 1, 5);
    if (place + context.measureText(text).width + 6 < width) {
      context.fillText(text, place + 4, rulerHeight / 2);
    }
  }
  context.clearRect(0, 0, gutter, rulerHeight - 1);
  context.fillStyle = cssColour("surface");
  context.fillRect(0, 0, gutter, rulerHeight - 1);
}

function drawLabel(frame: Frame, row: Row, view: View, top: number): void {
  const { context, gutter, width } = frame;
  context.fillStyle = cssColour("surface");
  context.fillRect(0, top, gutter - 1, row.height);
  context.fillStyle = cssColour("line");
  if (row.track < 0) context.fillRect(0, top, width, 1);
  context.fillRect(gutter - 1, top, 1, row.height);
  const middle = top + (row.track < 0 ? processHeight : trackHeight) / 2;
  if (row.track < 0) {
    context.fillStyle = cssColour("ink");
    context.font = font(12.5, 600);
    const mark = view.folded.has(row.lane) ? "\u25b8" : "\u25be";
    context.fillText(mark, 6, middle);
    context.fillText(fit(context, row.lane.title, gutter - 28), 20, middle);
    return;
  }
  const { track } = row.lane.tracks[row.track];
  context.fillStyle = cssColour(track.ours ? "soft" : "ink");
  context.font = font(12, track.lead ? 600 : 400);
  const sign = track.device ? "\u25a3 " : track.lead ? "\u2605 " : "";
  const name = sign + track.name;
  context.fillText(fit(context, name, gutter - 28), 20, middle);
}

function drawSteps(
  frame: Frame, lane: Lane, view: View, x: (ns: number) => number, top: number,
): void {
  const { context } = frame;
  context.fillStyle = cssColour("life");
  const from = x(lane.process.begin);
  context.fillRect(from, top + 8, Math.max(1, x(lane.process.end) - from), processHeight - 15);
  context.font = font(10.5);
  const mixed = isMixed(lane.steps);
  lane.steps.forEach((mark, index) => {
    if (mark.end < view.begin || mark.begin > view.end) return;
    const left = x(mark.begin);
    const size = Math.max(0.5, x(mark.end) - left);
    const gap = size > 6 ? 1 : 0;
    context.fillStyle = mark.control
      ? paintOf(context, "control") : cssColour(index % 2 ? "step-odd" : "step-even");
    context.fillRect(left, top + 8, size - gap, processHeight - 15);
    if (mixed && mark.level > 1 && mark.level < 4) {
      const high = 2 * mark.level - 1;
      context.fillStyle = cssColour("accent");
      context.fillRect(left, top + processHeight - 7 - high, size - gap, high);
    }
    const seen = Math.max(left, frame.gutter);
    const room = Math.min(left + size, frame.width) - seen - 8;
    if (room < 20) return;
    const text = fit(context, `${mark.kind} ${mark.step}`, room);
    if (mark.control) {
      context.fillStyle = layerColour("control");
      context.fillRect(seen + 2, top + 10, context.measureText(text).width + 4, 11);
    }
    context.fillStyle = mark.control ? inkOn("control") : cssColour("step-ink");
    context.fillText(text, seen + 4, top + processHeight / 2 + 0.5);
  });
}

function drawPauses(frame: Frame, row: Row, x: (ns: number) => number, top: number): void {
  for (const [begin, end] of row.lane.process.paused) {
    frame.context.fillStyle = paintOf(frame.context, "unknown");
    frame.context.fillRect(x(begin), top, Math.max(1, x(end) - x(begin)), row.height);
  }
}

function drawTrack(
  frame: Frame, row: Row, view: View, x: (ns: number) => number, top: number,
): void {
  const { track, levels } = row.lane.tracks[row.track];
  const { context, width, gutter } = frame;
  context.fillStyle = cssColour("life");
  const from = x(track.begin);
  context.fillRect(from, top + 3, Math.max(1, x(track.end) - from), trackHeight - 6);
  const tiles = levelFor(levels, (2 * view.span) / (width - gutter));
  if (tiles) drawTiles(frame, tiles, view, x, top);
  if (row.window) drawSpans(frame, row.window.spans.get(track.id) ?? [], view, x, top);
}

// Every tile as a stack of its layers' shares, so that a thread that waits half of the time is
// half as high. Neighbours with the same name share one label.
function drawTiles(
  frame: Frame, tiles: Tiles, view: View, x: (ns: number) => number, top: number,
): void {
  let label = { name: -1, layer: 0, left: 0, right: 0 };
  const first = runAt(tiles, Math.floor(view.begin / tiles.tile));
  for (let run = first; run < tiles.first.length; ++run) {
    const begin = tiles.first[run] * tiles.tile;
    if (begin > view.end) break;
    const left = Math.round(x(begin));  // whole pixels: no seams between neighbours
    const right = Math.max(left + 1, Math.round(x(begin + tiles.count[run] * tiles.tile)));
    const layer = drawStack(frame, tiles, run, [left, right], top);
    const name = layerNames[layer] === "idle" ? -1 : tiles.level.name[run];
    if (name === label.name && layer === label.layer && left - label.right < 1) {
      label.right = right;
      continue;
    }
    drawTileLabel(frame, view, label, top);
    label = { name, layer, left, right };
  }
  drawTileLabel(frame, view, label, top);
}

// Returns the layer with the largest share.
function drawStack(
  frame: Frame, tiles: Tiles, run: number, [left, right]: [number, number], top: number,
): number {
  const { context } = frame;
  const room = trackHeight - 6;
  let bottom = top + trackHeight - 3;
  let largest = 0;
  for (const layer of stacked) {
    const share = tiles.share[run * layerNames.length + layer];
    if (!share) continue;
    if (share > tiles.share[run * layerNames.length + largest]) largest = layer;
    const high = (room * share) / 255;
    const waits = layerNames[layer] === "idle";  // paler, so that work stands out
    context.fillStyle = waits ? cssColour("waits") : paintOf(context, layerNames[layer]);
    context.fillRect(left, bottom - high, right - left, high);
    bottom -= high;
  }
  return tiles.share[run * layerNames.length + largest] > 150 ? largest : 0;
}

function drawTileLabel(
  frame: Frame, view: View, label: { name: number; layer: number; left: number; right: number },
  top: number,
): void {
  const { context } = frame;
  const seen = Math.max(label.left, frame.gutter);
  const space = Math.min(label.right, frame.width) - seen - 8;
  if (label.name < 0 || label.layer === 0 || space < 30) return;
  context.font = font(10.5);
  context.fillStyle = inkOn(layerNames[label.layer]);
  context.fillText(fit(context, view.model.timeline.texts[label.name], space), seen + 4,
    top + trackHeight / 2 + 0.5);
}

function drawSpans(
  frame: Frame, spans: Span[], view: View, x: (ns: number) => number, top: number,
): void {
  const { context } = frame;
  const texts = view.model.timeline.texts;
  context.font = font(10.5);
  for (const span of spans) {
    if (span.begin > view.end) break;
    if (span.end < view.begin) continue;
    const left = Math.max(x(span.begin), frame.gutter - 2);
    const right = Math.min(x(span.end), frame.width + 2);
    const size = Math.max(0.6, right - left);
    const y = top + trackHeight + span.depth * spanHeight;
    const layer = layerNames[span.layer];
    const grouping = span.kind !== 0;
    context.fillStyle = grouping ? cssColour("group") : paintOf(context, layer);
    context.fillRect(left, y, size > 3 ? size - 0.6 : size, spanHeight - 1);
    if (size < 24) continue;
    context.fillStyle = grouping ? cssColour("ink") : inkOn(layer);
    context.fillText(fit(context, texts[span.name] ?? "", size - 8), left + 4, y + spanHeight / 2);
  }
}

function drawChosen({ context, chosen, gutter, width, height }: Frame, x: (ns: number) => number) {
  if (!chosen) return;
  const left = Math.max(x(chosen.begin), gutter);
  const right = Math.min(x(chosen.end), width);
  if (right <= left) return;
  context.globalAlpha = 0.16;
  context.fillStyle = cssColour("accent");
  context.fillRect(left, rulerHeight, right - left, height);
  context.globalAlpha = 1;
  context.fillRect(left, rulerHeight, 1.5, height);
  context.fillRect(right - 1.5, rulerHeight, 1.5, height);
}

function drawPlace(
  frame: Frame, place: Place | null, x: (ns: number) => number, colour: string, line: number,
): void {
  const { context, gutter, width } = frame;
  if (!place) return;
  const left = Math.max(x(place.begin), gutter);
  const right = Math.min(x(place.end), width);
  if (right < gutter || left > width) return;
  const top = place.row.top - frame.scroll + rulerHeight;
  const high = place.row.track < 0 ? processHeight : trackHeight;
  context.strokeStyle = cssColour(colour);
  context.lineWidth = line;
  if (place.depth >= 0) {
    context.strokeRect(left, top + trackHeight + place.depth * spanHeight,
      Math.max(2, right - left - 0.6), spanHeight - 1);
  } else {
    context.strokeRect(left, top + 2, Math.max(2, right - left), high - 4);
  }
}
