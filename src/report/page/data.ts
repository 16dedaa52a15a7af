// The data that html_json.cc wrote into the page; the two change together. Times are nanoseconds
// since the run's begin.

export type Cells = (number | null)[];

export interface Processes {
  rows: number;
  process: number[];
  pid?: Cells;
  name?: number[];
  wall_ns?: Cells;
  start_ns?: Cells;
}

// What each part of a process's window was spent on: an operation, or a line outside of them.
export interface PartWork {
  rows: number;
  process: number[];
  part: number[];  // "steps", "start-up", ...
  work: number[];
  what: number[];  // what kind of thing `work` names
  layers: number[];
  device: Cells;
  ns: Cells;
  corrected_ns?: Cells;
}

export interface Steps {
  rows: number;
  process: number[];
  step: Cells;
  kind?: number[];
  begin_ns: Cells;
  end_ns: Cells;
  wall_ns?: Cells;  // without pauses
  control?: Cells;
  level?: Cells;
  open?: Cells;  // 1: nobody told its end
}

export interface StepSummary {
  rows: number;
  process: number[];
  kind?: number[];
  steps: Cells;
  control_steps?: Cells;
  marks_steps?: Cells;  // that the budget left out
  median_ns: Cells;
}

export interface Outliers {
  rows: number;
  process: number[];
  step: Cells;
  kind?: number[];
  median_ns: Cells;
  layers: number[];
  grew_ns: Cells;
}

export interface Level {
  tile: number;
  skip: number[];
  count: number[];
  name: number[];
  op: number[];
  spans: number[];
  share: string;
}

export interface Track {
  id: number;
  name: string;
  device: number;
  lead: number;
  ours: number;
  begin: number;
  end: number;
  levels: Level[];
}

export interface TimelineProcess {
  id: number;
  name: string;
  begin: number;
  end: number;
  paused: [number, number][];
  tracks: Track[];
}

export interface DetailTrack {
  id: number;
  omitted: number;
  at: number[];
  ns: number[];
  name: number[];
  depth: number[];
  layer: number[];
  kind: number[];
  args?: number[];  // into Timeline.args; -1: none, -2: some, which had no room
  line?: number[];  // from which line of the Python function around it was called; 0: not known
}

export interface Detail {
  process: number;
  title: string;
  begin: number;
  end: number;
  tracks: DetailTrack[];
}

export interface Timeline {
  begin: number;
  end: number;
  omitted: number;
  texts: string[];
  processes: TimelineProcess[];
  details: Detail[];
  args: number[][];  // key, value, key, value, ... in texts
  // Arrows: spans by their number, counted through details, their tracks and spans; -1: not kept.
  from: number[];
  to: number[];
  omitted_flows: number;
}

export interface PageData {
  version: number;
  texts: string[];
  all_steps: number;
  run: string;  // as commands name it
  processes?: Processes;
  verdict?: { rows: number; process: number[] };
  part_work?: PartWork;
  steps?: Steps;
  outliers?: Outliers;
  step_summary?: StepSummary;
  timeline?: Timeline;
}

// A process as people know it, "train.py (pid 4711)", by the key that the tables name it with.
export function titleOf(data: PageData, key: string): string {
  const { processes, texts } = data;
  const row = processes?.process.findIndex((text) => texts[text] === key) ?? -1;
  if (!processes || row < 0) return key;
  const name = texts[processes.name?.[row] ?? -1] || key;
  const pid = processes.pid?.[row] ?? 0;
  return pid > 0 ? `${name} (pid ${pid})` : name;
}

// "data": the run that the page shows; "data-other": the run that it is compared with, where a page
// compares two. Null where the page has none.
export function readData(id: "data" | "data-other"): PageData | null {
  const text = document.getElementById(id)?.textContent;
  return text ? JSON.parse(text) as PageData : null;
}
