// A range of the timeline, summed up: its layers, operations and what ran, of one thread.
import { button, el } from "./dom";
import { formatCount, formatNs, formatPercent } from "./format";
import { Sums, sumsOf } from "./sums";
import { Chosen, TimelineChart } from "./timeline";

const rowsShown = 15;

// Largest first; the rest in one row, so that the table adds up.
export function shownParts(parts: Map<string, number>, limit = rowsShown): [string, number][] {
  const all = [...parts].sort((a, b) => b[1] - a[1]);
  if (all.length <= limit) return all;
  const rest = all.slice(limit - 1);
  const sum = rest.reduce((ns, part) => ns + part[1], 0);
  return [...all.slice(0, limit - 1), [`(${formatCount(rest.length)} others)`, sum]];
}

// How sure sums are, in a sentence.
export function sureness(sums: Sums): string {
  const parts: string[] = [];
  if (sums.estimated <= sums.wall * 1e-9) parts.push("All of it comes from exact spans.");
  else if (sums.estimated >= sums.wall * 0.9999) {
    parts.push("This is an estimate: the page keeps no spans here, only sums of short times, " +
      "each under the name that took most of it.");
  } else {
    parts.push(`${formatPercent(sums.wall - sums.estimated, sums.wall)} of it comes from exact ` +
      "spans; the rest is an estimate from sums of short times.");
  }
  if (sums.omitted > 0) {
    parts.push(`${formatCount(sums.omitted)} of the shortest spans are left out; their time ` +
      "counts for the spans around them.");
  }
  return parts.join(" ");
}

function partTable(title: string, parts: Map<string, number>, wall: number): HTMLElement {
  const body = el("tbody");
  for (const [name, ns] of shownParts(parts)) {
    body.append(el("tr", {}, el("td", {}, name), el("td", { class: "n" }, formatNs(ns)),
      el("td", { class: "n" }, formatPercent(ns, wall))));
  }
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, title),
      el("th", { scope: "col", class: "n" }, "time"),
      el("th", { scope: "col", class: "n" }, "share"))), body));
}

export class RangeTable {
  readonly element = el("div", { class: "range-table", hidden: true, role: "region",
    "aria-label": "The chosen range" });

  constructor(private chart: TimelineChart) {}

  show(range: Chosen | null): void {
    const within = this.element.contains(document.activeElement);
    this.element.hidden = range === null;
    if (!range && within) this.chart.pane.focus({ preventScroll: true });
    if (!range) return;
    const { model } = this.chart;
    const lane = model.lanes[range.lane];
    const threads = el("select", { "aria-label": "Thread" });
    model.lanes.forEach((each, laneIndex) => each.tracks.forEach(({ track }, trackIndex) => {
      const chosen = laneIndex === range.lane && trackIndex === range.track;
      threads.append(el("option", { selected: chosen, value: `${laneIndex} ${trackIndex}` },
        model.lanes.length > 1 ? `${track.name} of ${each.title}` : track.name));
    }));
    threads.addEventListener("change", () => {
      const [laneIndex, track] = threads.value.split(" ").map(Number);
      this.chart.chooseRange({ ...range, lane: laneIndex, track });
    });
    const sums = sumsOf(model, lane, range.track, [range.begin, range.end]);
    this.element.replaceChildren(
      el("h3", {}, `${formatNs(range.begin)} to ${formatNs(range.end)}: ${formatNs(sums.wall)}`),
      el("div", { class: "controls" }, threads,
        button("Fill the view", () => this.chart.reveal(range.begin, range.end)),
        button("Let go", () => this.chart.chooseRange(null))),
      el("p", { class: "explain" }, `${sureness(sums)} What ran stands without what it called.`),
      el("div", { class: "parts" }, partTable("layer", sums.layers, sums.wall),
        partTable("operation", sums.operations, sums.wall),
        partTable("what ran", sums.names, sums.wall)));
    if (within) threads.focus({ preventScroll: true });
  }
}
