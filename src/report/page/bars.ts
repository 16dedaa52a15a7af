// "Where the time went": stacked bars of processes and their operations.
import { Bar, barsOf, hasCorrection, ProcessBars, Segment, withSteps } from "./bars_model";
import { PageData } from "./data";
import { button, choice, el, svg } from "./dom";
import { formatMark, formatNs, formatPercent, roundStep } from "./format";
import { layerMeanings, stackOrder } from "./layers";
import { paint } from "./stripes";
import { hideTip, Lines, showTip } from "./tooltip";

const firstRows = 12;

interface State {
  corrected: boolean;
  share: boolean;
  window: boolean;  // all of it, not the steps alone
  open: Set<string>;
  all: Set<string>;
}

const shown = (bar: Bar) => (bar.work ?? bar.title) || "(no line seen)";

function setName(segment: Segment): string {
  const host = segment.layers.join(" + ");
  if (segment.device) return host ? `${host}, device busy` : "device only";
  return host || "nothing known";
}

export function addBars(section: HTMLElement, data: PageData): void {
  const processes = barsOf(data, true);
  if (processes.length === 0) return;
  section.hidden = false;
  const state: State = {
    corrected: hasCorrection(data),
    share: false,
    window: withSteps(data).size === 0,
    open: new Set(processes.slice(0, processes.length <= 3 ? 3 : 1).map((p) => p.whole.process)),
    all: new Set(),
  };
  const rows = el("div", { class: "bars" });
  const redraw = () => drawRows(rows, barsOf(data, state.window), state, redraw);
  section.append(controls(data, state, redraw), legend(processes, rows), rows);
  redraw();
}

function controls(data: PageData, state: State, redraw: () => void): HTMLElement {
  const bar = el("div", { class: "controls" });
  if (hasCorrection(data)) {
    bar.append(choice("Correction", [["corrected", "Corrected"], ["raw", "Raw"]], "corrected",
      (value) => { state.corrected = value === "corrected"; redraw(); }));
  }
  if (withSteps(data).size > 0) {
    bar.append(choice("Part", [["steps", "Steps or requests"], ["window", "Whole window"]], "steps",
      (value) => { state.window = value === "window"; redraw(); }));
  }
  bar.append(choice("Scale", [["time", "Time"], ["share", "Share"]], "time",
    (value) => { state.share = value === "share"; redraw(); }));
  const correction = hasCorrection(data)
    ? "Corrected: without what Crosscut itself cost. Raw: as it was measured."
    : "As it was measured; nothing was corrected.";
  const part = withSteps(data).size === 0 ? "" : " Steps or requests: of processes that have " +
    "any, only these (without control steps), as in the verdict. Whole window: start-up, " +
    "shutdown and control steps, too.";
  bar.append(el("p", { class: "explain" }, correction + part));
  return bar;
}

// Only layers that occur. Pointing at one fades everything else.
function legend(processes: ProcessBars[], rows: HTMLElement): HTMLElement {
  const present = new Set<string>();
  let both = false;
  for (const { whole } of processes) {
    for (const { layers, device } of whole.segments) {
      if (layers.length > 1) both = true;
      for (const layer of layers) present.add(layer);
      if (device) present.add("device");
      if (!device && layers.length === 0) present.add("unknown");
    }
  }
  const list = el("ul", { class: "legend", "aria-label": "Layers" });
  for (const layer of stackOrder.filter((l) => present.has(l))) {
    const item = el("li", { title: layerMeanings[layer] },
      el("i", { class: `key k-${layer}` }), layer);
    item.addEventListener("pointerenter", () => fade(rows, layer));
    item.addEventListener("pointerleave", () => fade(rows, null));
    list.append(item);
  }
  if (both) {
    list.append(el("li", { class: "how" }, el("i", { class: "key k-striped" }),
      "striped: at the same time"));
  }
  if (present.has("device")) {
    list.append(el("li", { class: "how" }, el("i", { class: "key k-band" }),
      "lower band: a device is busy meanwhile"));
  }
  return list;
}

function fade(rows: HTMLElement, layer: string | null): void {
  for (const rect of rows.querySelectorAll<SVGElement>("g[data-set]")) {
    const set = (rect.dataset.set ?? "").split("+");
    rect.classList.toggle("faded", layer !== null && !set.includes(layer));
  }
}

function drawRows(
  rows: HTMLElement, processes: ProcessBars[], state: State, redraw: () => void,
): void {
  const focus = document.activeElement?.getAttribute("data-focus");
  const size = (bar: Bar) => (state.corrected ? bar.corrected : bar.raw);
  const longest = Math.max(1, ...processes.map(({ whole }) => size(whole)));
  rows.replaceChildren(axis(state.share ? 0 : longest));
  for (const process of processes) {
    const { whole, work } = process;
    const open = state.open.has(whole.process);
    const toggle = button(shown(whole), () => {
      if (!state.open.delete(whole.process)) state.open.add(whole.process);
      redraw();
    }, { class: "fold", "aria-expanded": String(open), "data-focus": whole.process });
    rows.append(row(whole, toggle, size(whole), { state, longest, process: size(whole) }));
    if (!open) continue;
    const limit = state.all.has(whole.process) ? work.length : firstRows;
    for (const bar of work.slice(0, limit)) {
      const label = el("span", { class: bar.work ? "name" : "name none" }, shown(bar));
      rows.append(row(bar, label, size(bar), { state, longest, process: size(whole) }));
    }
    if (work.length > limit) {
      rows.append(button(`Show all ${work.length} operations and lines`, () => {
        state.all.add(whole.process);
        redraw();
      }, { class: "all" }));
    }
  }
  if (focus) {
    for (const fold of rows.querySelectorAll<HTMLElement>("[data-focus]")) {
      if (fold.dataset.focus === focus) fold.focus();
    }
  }
}

function axis(longest: number): HTMLElement {
  const drawing = svg("svg", { class: "axis", "aria-hidden": "true" });
  const step = longest ? roundStep(longest / 4) : 0.25;
  for (let at = 0; at <= (longest || 1) * 1.0001; at += step) {
    const x = `${(100 * at) / (longest || 1)}%`;
    const edge = at > (longest || 1) * 0.97 ? "end" : at === 0 ? "start" : "middle";
    drawing.append(
      svg("line", { x1: x, x2: x, y1: 14, y2: 20 }),
      svg("text", { x, y: 10, "text-anchor": edge },
        longest ? formatMark(at, step, longest) : `${Math.round(100 * at)} %`));
  }
  return el("div", { class: "row axis-row" }, el("span"), drawing, el("span"));
}

interface Scale { state: State; longest: number; process: number }

function row(bar: Bar, label: HTMLElement, size: number, scale: Scale): HTMLElement {
  const { state, longest, process } = scale;
  const whole = bar.work === null;
  const drawing = svg("svg", { class: "bar", role: "img", "aria-label": spoken(bar, state) });
  const full = state.share ? size : longest;
  let at = 0;
  for (const segment of bar.segments) {
    const ns = state.corrected ? segment.corrected : segment.raw;
    if (ns <= 0 || full <= 0) continue;
    drawing.append(segmentGroup(bar, segment, [(100 * at) / full, (100 * ns) / full], state));
    at += ns;
  }
  const value = el("span", { class: "value" }, el("b", {}, formatNs(size)), " ",
    el("span", {}, whole ? "" : formatPercent(size, process)));
  label.setAttribute("title", shown(bar));
  return el("div", { class: whole ? "row process" : "row" }, label, drawing, value);
}

function segmentGroup(
  bar: Bar, segment: Segment, [from, width]: [number, number], state: State,
): SVGGElement {
  const place = { x: `${from}%`, width: `${width}%` };
  const set = segment.layers.length ? segment.layers : segment.device ? [] : ["unknown"];
  const group = svg("g", { "data-set": [...set, ...(segment.device ? ["device"] : [])].join("+") },
    svg("rect", { ...place, y: 0, height: "100%", ...paint(segment.layers, segment.device) }));
  if (segment.device && segment.layers.length) {
    group.append(svg("rect", { ...place, y: "66%", height: "34%", class: "f-device band" }));
  }
  const size = (b: Bar | Segment) => (state.corrected ? b.corrected : b.raw);
  group.addEventListener("pointermove", (event) => {
    const lines: Lines = [
      ["layers", setName(segment)],
      ["time", formatNs(size(segment))],
      ["share of bar", formatPercent(size(segment), size(bar))],
    ];
    if (segment.corrected !== segment.raw) {
      lines.push(["raw", formatNs(segment.raw)], ["corrected", formatNs(segment.corrected)]);
    }
    showTip(shown(bar), lines, event.clientX, event.clientY);
  });
  group.addEventListener("pointerleave", hideTip);
  return group;
}

// The bar in words: its three largest parts.
function spoken(bar: Bar, state: State): string {
  const size = (b: Bar | Segment) => (state.corrected ? b.corrected : b.raw);
  const parts = [...bar.segments].sort((a, b) => size(b) - size(a)).slice(0, 3)
    .map((s) => `${setName(s)} ${formatPercent(size(s), size(bar))}`);
  return `${shown(bar)}: ${formatNs(size(bar))}; ${parts.join(", ")}`;
}
