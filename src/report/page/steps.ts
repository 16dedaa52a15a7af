// "Steps over time": one dot per step, the median step as a line, slow steps marked.
import { Cells, PageData, titleOf } from "./data";
import { choice, el, fitCanvas } from "./dom";
import { formatCount, formatMark, formatNs, formatPercent, roundStep } from "./format";
import { cssColour, onThemeChange } from "./layers";
import { TimelineChart } from "./timeline";
import { isMixed, recordedAt, StepMark, stepsByProcess } from "./timeline_model";
import { hideTip, Lines, say, showTip } from "./tooltip";

const margin = { left: 74, right: 14, top: 14, bottom: 28 };

const lengthOf = (mark: StepMark) => mark.wall;

// As the table step_summary has them: by kind, that with most steps first.
function mediansOf(data: PageData, process: string): Map<string, number> {
  const summary = data.step_summary;
  const found: { kind: string; steps: number; median: number }[] = [];
  for (let row = 0; summary && row < summary.rows; ++row) {
    if (data.texts[summary.process[row]] !== process) continue;
    const kind = summary.kind ? data.texts[summary.kind[row]] : "step";
    found.push({ kind, steps: summary.steps[row] ?? 0, median: summary.median_ns[row] ?? 0 });
  }
  found.sort((a, b) => b.steps - a.steps);
  return new Map(found.map(({ kind, median }) => [kind, median]));
}

// "408 steps, 72 control steps", as text and tables count them; "" where nothing does.
export function countsOf(data: PageData, process: string): string {
  const summary = data.step_summary;
  const parts: [Cells | undefined, string][] = [[summary?.steps, "steps"],
    [summary?.control_steps, "control steps"], [summary?.marks_steps, "left-out steps"]];
  return parts.map(([cells, name]): [number, string] => {
    let sum = 0;
    for (let row = 0; summary && row < summary.rows; ++row) {
      if (data.texts[summary.process[row]] === process) sum += cells?.[row] ?? 0;
    }
    return [sum, name];
  }).filter(([sum]) => sum > 0).map(([sum, name]) => `${formatCount(sum)} ${name}`).join(", ");
}

// How far an axis reaches that a few huge steps must not flatten: to the longest step, or where
// that is far above what nearly all steps took, a little above these.
export function axisTop(sizes: number[]): number {
  const sorted = [...sizes].sort((a, b) => a - b);
  const most = Math.max(1, sorted[sorted.length - 1] ?? 1);
  const usual = sorted[Math.max(0, Math.ceil(sorted.length * 0.95) - 1)] ?? most;
  return sorted.length >= 5 && most > 2.5 * usual && usual > 0 ? 1.4 * usual : most * 1.05;
}

export class StepsChart {
  private readonly canvas = el("canvas", {
    class: "steps", tabindex: 0, role: "img",
    "aria-label": "Length of each step over time. Left and right arrows go from step to step, " +
      "Enter shows the step in the timeline. The table of steps holds the same numbers.",
  });
  private readonly summary = el("p", { class: "explain" });
  private readonly byProcess: Map<string, StepMark[]>;
  private marks: StepMark[] = [];
  private medians = new Map<string, number>();  // by kind
  private median = 0;  // of the kind with most steps
  private process = "";
  private chosen = -1;
  private log = false;
  private kept = new Set<StepMark>();
  private cut = true;  // the axis ends above the usual steps
  private top = 1;     // where the axis ends, ns
  private readonly higher = el("p", { class: "note", hidden: true });

  constructor(
    section: HTMLElement, private data: PageData,
    private chart: TimelineChart | null,
  ) {
    this.byProcess = stepsByProcess(data);
    const processes = [...this.byProcess.keys()];
    if (processes.length === 0) return;
    section.hidden = false;
    const sizes = (name: string) => this.byProcess.get(name)?.length ?? 0;
    const first = processes.reduce((a, b) => (sizes(b) > sizes(a) ? b : a));
    section.append(this.controls(processes, first), this.canvas, this.higher, this.key(),
      this.summary);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    onThemeChange(() => this.draw());
    this.choose(first);
  }

  private controls(processes: string[], first: string): HTMLElement {
    const bar = el("div", { class: "controls" });
    if (processes.length > 1) {
      const list = el("select", { "aria-label": "Process" });
      for (const key of processes) {
        list.append(el("option", { selected: key === first }, titleOf(this.data, key)));
      }
      list.addEventListener("change", () => this.choose(processes[list.selectedIndex]));
      bar.append(list);
    }
    const scales: [string, string][] =
      [["linear", "Usual steps"], ["whole", "All steps"], ["log", "Logarithmic"]];
    bar.append(choice("Scale", scales, "linear", (value) => {
      this.log = value === "log";
      this.cut = value === "linear";
      this.rescale();
    }));
    return bar;
  }

  private key(): HTMLElement {
    return el("ul", { class: "legend" },
      el("li", {}, el("i", { class: "key dot" }), "step"),
      el("li", {}, el("i", { class: "key dot slow" }), "unusually slow"),
      el("li", {}, el("i", { class: "key high" }), "longer than the axis"),
      el("li", {}, el("i", { class: "key dot control" }), "control step, probes off"),
      el("li", {}, el("i", { class: "key dot ring" }), "with spans"),
      el("li", {}, el("i", { class: "key line" }), "median step"));
  }

  private choose(process: string): void {
    // Where the program's end is mixed up with a step, its length says nothing of steps.
    this.marks = (this.byProcess.get(process) ?? []).filter((mark) => !mark.open);
    this.process = process;
    this.medians = mediansOf(this.data, process);
    const [[kind, median]] = this.medians.size ? this.medians : [["step", 0] as [string, number]];
    this.median = median;
    this.chosen = -1;
    const parts: string[] = [];
    const slower = this.marks.filter((m) => m.slow).length;
    const counts = countsOf(this.data, process);
    if (counts) parts.push(`${counts}.`);
    parts.push(`The median ${kind || "step"} took ${formatNs(median)}; ${formatCount(slower)} of ` +
      "those drawn took unusually long.");
    if (this.data.steps && this.data.steps.rows < this.data.all_steps) {
      parts.push(`Of ${formatCount(this.data.all_steps)} steps ` +
        `${formatCount(this.data.steps.rows)} are drawn: the slowest and ` +
        "the fastest of every group of neighbours, and those with spans.");
    }
    if (this.chart) parts.push(this.keptSentence(process));
    this.summary.textContent = parts.join(" ");
    this.rescale();
  }

  private laneOf(process: string): number {
    return this.chart?.model.lanes.findIndex((lane) => lane.process.name === process) ?? -1;
  }

  // Of which steps the page has spans, and how to get those of others.
  private keptSentence(process: string): string {
    const lane = this.laneOf(process);
    const isKept = (mark: StepMark) => lane >= 0 && this.chart?.isStepKept(lane, mark) === true;
    this.kept = new Set(this.marks.filter(isKept));
    const count = this.kept.size;
    const click = "Click a dot to see the step in the timeline.";
    if (count === this.marks.length) {
      return `${click} The page keeps the spans of every step drawn.`;
    }
    const example = this.marks.find((mark) => !this.kept.has(mark))?.step ?? 0;
    return `${click} The page keeps the spans of ${formatCount(count)} of them (ringed): ` +
      "typical, slow and a few others. For those of others, name them: " +
      `crosscut open ${this.data.run} --steps ${example}`;
  }

  private rescale(): void {
    const sizes = this.marks.map(lengthOf);
    const most = sizes.reduce((a, b) => Math.max(a, b), 1);
    this.top = this.cut ? axisTop(sizes) : most * 1.05;
    const above = sizes.filter((size) => size > this.top).length;
    this.higher.hidden = above === 0;
    this.higher.textContent = `${formatCount(above)} ${above === 1 ? "step is" : "steps are"} ` +
      `longer than this axis (up to ${formatNs(most)}) and ${above === 1 ? "stands" : "stand"} ` +
      "at its top as triangles.";
    this.draw();
  }

  private place(width: number, height: number): (mark: StepMark) => [number, number] {
    const begin = this.marks[0].begin;
    const end = this.marks.reduce((most, m) => Math.max(most, m.begin), begin + 1);
    const room = width - margin.left - margin.right - 12;
    const y = this.scale(height);
    return (mark) => [
      margin.left + 6 + ((mark.begin - begin) / (end - begin)) * room, y(lengthOf(mark)),
    ];
  }

  private scale(height: number): (ns: number) => number {
    const sizes = this.marks.map(lengthOf);
    const most = this.top;
    const low = this.log ? Math.max(1, sizes.reduce((a, b) => Math.min(a, b), most)) * 0.8 : 0;
    const room = height - margin.top - margin.bottom;
    const part = this.log
      ? (ns: number) => Math.log(Math.max(ns, 1) / low) / Math.log(most / low)
      : (ns: number) => ns / most;
    return (ns) => margin.top + room * (1 - Math.min(1, part(ns)));
  }

  private draw(): void {
    const context = this.canvas.getContext("2d");
    const { width, height } = fitCanvas(this.canvas);
    if (!context || width < 80 || this.marks.length === 0) return;
    context.fillStyle = cssColour("surface");
    context.fillRect(0, 0, width, height);
    context.font = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
    context.textBaseline = "middle";
    this.drawAxes(context, width, height);
    const place = this.place(width, height);
    this.marks.forEach((mark, index) => this.drawMark(context, mark, place(mark), index));
  }

  private drawAxes(context: CanvasRenderingContext2D, width: number, height: number): void {
    const y = this.scale(height);
    const most = this.top / 1.05;
    const least = this.marks.reduce((a, m) => Math.min(a, lengthOf(m)), most);
    const ticks: [number, number][] = [];
    if (this.log) {
      const lowest = Math.pow(10, Math.floor(Math.log10(Math.max(1, least))));
      for (let power = lowest; power <= most; power *= 10) {
        for (const lead of [1, 2, 5]) ticks.push([lead * power, lead * power]);
      }
    } else {
      const step = roundStep(most / 3);
      for (let at = 0; at <= most * 1.04; at += step) ticks.push([at, step]);
    }
    context.textAlign = "right";
    for (const [at, step] of ticks) {
      const place = y(at);
      if (place < margin.top - 1 || place > height - margin.bottom + 1) continue;
      context.fillStyle = cssColour("grid");
      context.fillRect(margin.left, Math.round(place), width - margin.left - margin.right, 1);
      context.fillStyle = cssColour("soft");
      context.fillText(formatMark(at, step, this.log ? at : most), margin.left - 8, place);
    }
    context.textAlign = "left";
    this.drawTimes(context, width, height);
    if (this.median <= 0) return;
    context.strokeStyle = cssColour("accent");
    context.lineWidth = 1.25;
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(margin.left, y(this.median));
    context.lineTo(width - margin.right, y(this.median));
    context.stroke();
    context.setLineDash([]);
  }

  private drawTimes(context: CanvasRenderingContext2D, width: number, height: number): void {
    const begin = this.marks[0].begin;
    const end = this.marks.reduce((most, m) => Math.max(most, m.begin), begin + 1);
    const room = width - margin.left - margin.right - 12;
    const step = roundStep(((end - begin) * 150) / room);
    context.fillStyle = cssColour("soft");
    for (let at = Math.ceil(begin / step) * step; at <= end; at += step) {
      const place = margin.left + 6 + ((at - begin) / (end - begin)) * room;
      const text = formatMark(at, step, end);
      if (place + context.measureText(text).width / 2 > width) continue;
      context.fillText(text, Math.max(0, place - context.measureText(text).width / 2), height - 10);
    }
  }

  private drawMark(
    context: CanvasRenderingContext2D, mark: StepMark, [x, y]: [number, number], index: number,
  ): void {
    context.beginPath();
    if (lengthOf(mark) > this.top) {
      context.moveTo(x, y - 6);
      context.lineTo(x + 6, y + 4);
      context.lineTo(x - 6, y + 4);
      context.fillStyle = cssColour("slow");
      context.fill();
    } else if (mark.control) {
      context.rect(x - 3, y - 3, 6, 6);
      context.strokeStyle = cssColour("soft");
      context.lineWidth = 1.5;
      context.stroke();
    } else {
      const far = mark.slow !== null;
      context.arc(x, y, far ? 4 : this.marks.length > 1500 ? 1.7 : 2.6, 0, 2 * Math.PI);
      context.fillStyle = cssColour(far ? "slow" : "dot");
      context.fill();
    }
    if (this.kept.has(mark) && this.kept.size < this.marks.length) {
      context.beginPath();
      context.arc(x, y, 5.5, 0, 2 * Math.PI);
      context.strokeStyle = cssColour("accent");
      context.lineWidth = 1.25;
      context.stroke();
    }
    if (index !== this.chosen) return;
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.strokeStyle = cssColour("ink");
    context.lineWidth = 1.5;
    context.stroke();
  }

  private nearest(event: MouseEvent): number {
    if (this.marks.length === 0) return -1;
    const { left, top } = this.canvas.getBoundingClientRect();
    const place = this.place(this.canvas.clientWidth, this.canvas.clientHeight);
    let best = -1;
    let distance = 24 * 24;
    this.marks.forEach((mark, index) => {
      const [x, y] = place(mark);
      const away = (x - event.clientX + left) ** 2 + (y - event.clientY + top) ** 2;
      if (away < distance) {
        distance = away;
        best = index;
      }
    });
    return best;
  }

  private linesOf(mark: StepMark): Lines {
    const lines: Lines = [["took", formatNs(lengthOf(mark))]];
    const median = this.medians.get(mark.kind);
    if (median) {
      const of = this.medians.size > 1 ? `of the median ${mark.kind}` : "of the median";
      lines.push([of, formatPercent(lengthOf(mark), median)]);
    }
    lines.push(["from", formatNs(mark.begin)]);
    if (mark.slow) {
      const layers = mark.slow.layers || "nothing known";
      lines.push(["grew most", `${layers}, by ${formatNs(mark.slow.grew)}`]);
    }
    if (mark.control) lines.push(["", "control step: the probes were off"]);
    else if (isMixed(this.marks)) lines.push(["recorded", recordedAt(mark.level)]);
    return lines;
  }

  private select(index: number): void {
    this.chosen = index;
    const mark = this.marks[index];
    if (!mark) {
      hideTip();
    } else {
      const { left, top } = this.canvas.getBoundingClientRect();
      const [x, y] = this.place(this.canvas.clientWidth, this.canvas.clientHeight)(mark);
      showTip(`${mark.kind} ${mark.step}`, this.linesOf(mark), left + x, top + y);
    }
    this.draw();
  }

  private listen(): void {
    this.canvas.addEventListener("pointermove", (event) => this.select(this.nearest(event)));
    this.canvas.addEventListener("pointerleave", () => this.select(-1));
    this.canvas.addEventListener("click", (event) => this.open(this.nearest(event)));
    this.canvas.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (move && this.marks.length > 0) {
        event.preventDefault();
        this.select(Math.min(Math.max(this.chosen + move, 0), this.marks.length - 1));
        const mark = this.marks[this.chosen];
        say(`${mark.kind} ${mark.step}, ${formatNs(lengthOf(mark))}`);
      } else if (event.key === "Enter") {
        this.open(this.chosen);
      }
    });
  }

  private open(index: number): void {
    const mark = this.marks[index];
    if (!mark || !this.chart) return;
    hideTip();
    this.chart.revealStep(this.laneOf(this.process), mark);
  }
}
