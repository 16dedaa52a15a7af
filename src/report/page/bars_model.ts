// The cells of the table `overlap` as bars: a bar per process, below it one per operation.
import { PageData, titleOf } from "./data";
import { layersOf, stackOrder } from "./layers";

export interface Segment {
  layers: string[];
  device: boolean;
  raw: number;
  corrected: number;
}

export interface Bar {
  process: string;  // its key
  title: string;
  operation: string | null;  // null: the whole process
  segments: Segment[];
  raw: number;
  corrected: number;
}

export interface ProcessBars {
  whole: Bar;
  operations: Bar[];  // largest first
}

function emptyBar(process: string, title: string, operation: string | null): Bar {
  return { process, title, operation, segments: [], raw: 0, corrected: 0 };
}

function add(bar: Bar, segment: Segment): void {
  bar.raw += segment.raw;
  bar.corrected += segment.corrected;
  const same = bar.segments.find(
    (s) => s.device === segment.device && s.layers.join() === segment.layers.join());
  if (same) {
    same.raw += segment.raw;
    same.corrected += segment.corrected;
  } else {
    bar.segments.push({ ...segment });
  }
}

function rank(segment: Segment): number {
  if (segment.layers.length === 0) return stackOrder.indexOf(segment.device ? "device" : "unknown");
  return stackOrder.indexOf(segment.layers[0]) + segment.layers.length / 100;
}

function order(bar: Bar): void {
  bar.segments.sort((a, b) => rank(a) - rank(b) || Number(a.device) - Number(b.device));
}

export function hasCorrection(data: PageData): boolean {
  return data.overlap?.corrected_ns?.some((ns) => ns !== null) ?? false;
}

export function barsOf(data: PageData): ProcessBars[] {
  const cells = data.overlap;
  if (!cells) return [];
  const processes = new Map<number, { whole: Bar; operations: Map<number, Bar> }>();
  for (let row = 0; row < cells.rows; ++row) {
    const process = data.texts[cells.process[row]];
    let entry = processes.get(cells.process[row]);
    if (!entry) {
      entry = { whole: emptyBar(process, titleOf(data, process), null), operations: new Map() };
      processes.set(cells.process[row], entry);
    }
    let bar = entry.operations.get(cells.operation[row]);
    if (!bar) {
      bar = emptyBar(process, entry.whole.title, data.texts[cells.operation[row]]);
      entry.operations.set(cells.operation[row], bar);
    }
    const raw = cells.ns[row] ?? 0;
    const segment = {
      layers: layersOf(data.texts[cells.layers[row]]),
      device: cells.device[row] === 1,
      raw,
      corrected: cells.corrected_ns?.[row] ?? raw,
    };
    add(bar, segment);
    add(entry.whole, segment);
  }
  return [...processes.values()]
    .map(({ whole, operations }) => {
      const bars = [...operations.values()].sort((a, b) => b.raw - a.raw);
      for (const bar of [whole, ...bars]) order(bar);
      return { whole, operations: bars };
    })
    .sort((a, b) => b.whole.raw - a.whole.raw);
}
