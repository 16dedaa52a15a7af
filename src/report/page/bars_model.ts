// The rows of the table `part_work` as bars: a bar per process, below it one per operation or line.
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
  work: string | null;  // null: the whole process
  segments: Segment[];
  raw: number;
  corrected: number;
}

export interface ProcessBars {
  whole: Bar;
  work: Bar[];  // largest first
}

function emptyBar(process: string, title: string, work: string | null): Bar {
  return { process, title, work, segments: [], raw: 0, corrected: 0 };
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
  return data.part_work?.corrected_ns?.some((ns) => ns !== null) ?? false;
}

// The parts of a window that repeat; a process has one of them at most.
const REPEATING = ["steps", "requests"];
const repeats = (data: PageData, part: number) => REPEATING.includes(data.texts[part]);

// The processes, by the number of their text, that have steps or requests.
export function withSteps(data: PageData): Set<number> {
  const rows = data.part_work;
  const found = new Set<number>();
  for (let row = 0; rows && row < rows.rows; ++row) {
    if (repeats(data, rows.part[row])) found.add(rows.process[row]);
  }
  return found;
}

// Of a process with steps or requests these alone, as in every other view, unless `whole` asks for
// all of its window; of one without either its window. In the order in which the verdict speaks of
// processes; behind them others, the longest first.
export function barsOf(data: PageData, whole: boolean): ProcessBars[] {
  const rows = data.part_work;
  if (!rows) return [];
  const stepping = withSteps(data);
  const processes = new Map<number, { whole: Bar; work: Map<string, Bar> }>();
  for (let row = 0; row < rows.rows; ++row) {
    const of = rows.process[row];
    if (!whole && stepping.has(of) && !repeats(data, rows.part[row])) continue;
    const process = data.texts[of];
    let entry = processes.get(of);
    if (!entry) {
      entry = { whole: emptyBar(process, titleOf(data, process), null), work: new Map() };
      processes.set(of, entry);
    }
    const key = `${rows.what[row]} ${rows.work[row]}`;
    let bar = entry.work.get(key);
    if (!bar) {
      bar = emptyBar(process, entry.whole.title, data.texts[rows.work[row]]);
      entry.work.set(key, bar);
    }
    const raw = rows.ns[row] ?? 0;
    const segment = {
      layers: layersOf(data.texts[rows.layers[row]]),
      device: rows.device[row] === 1,
      raw,
      corrected: rows.corrected_ns?.[row] ?? raw,
    };
    add(bar, segment);
    add(entry.whole, segment);
  }
  const spoken = data.verdict?.process ?? [];
  const place = (of: number) => (spoken.includes(of) ? spoken.indexOf(of) : spoken.length);
  return [...processes]
    .sort(([a, { whole: ofA }], [b, { whole: ofB }]) =>
      place(a) - place(b) || ofB.raw - ofA.raw)
    .map(([, { whole: all, work }]) => {
      const bars = [...work.values()].sort((a, b) => b.raw - a.raw);
      for (const bar of [all, ...bars]) order(bar);
      return { whole: all, work: bars };
    });
}
