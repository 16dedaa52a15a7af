// A flame graph of the steps whose spans the page keeps: the lead thread's spans merged by the path
// of calls that leads to them.
import { button, el } from "./dom";
import { formatCount, formatNs, formatPercent } from "./format";
import { layerNames } from "./layers";
import { laneOf, Model, Span, Window } from "./timeline_model";
import { inkOn } from "./timeline_paint";
import { hideTip, showTip } from "./tooltip";

const rowHeight = 22;
const narrowest = 0.003;  // of the whole width
const deepest = 40;

interface Node {
  name: string;
  layer: number;
  kind: number;
  ns: number;
  self: number;
  count: number;
  parent: Node | null;
  children: Map<string, Node>;
}

const nodeOf = (name: string, span: { layer: number; kind: number }, parent: Node | null): Node =>
  ({ name, layer: span.layer, kind: span.kind, ns: 0, self: 0, count: 0, parent,
    children: new Map() });

// The lead's spans of the windows, merged. The root is as long as the windows together.
export function mergePaths(model: Model, windows: Window[]): Node {
  const root = nodeOf("all of it", { layer: 0, kind: 3 }, null);
  for (const window of windows) {
    const lead = laneOf(model, window.detail.process)?.tracks[0]?.track.id ?? -1;
    const nodes = new Map<Span, Node>();
    const length = window.detail.end - window.detail.begin;
    root.ns += length;
    root.self += length;
    ++root.count;
    for (const span of window.spans.get(lead) ?? []) {
      const parent = (span.parent && nodes.get(span.parent)) ?? root;
      const key = `${span.name} ${span.layer} ${span.kind}`;
      let node = parent.children.get(key);
      if (!node) {
        node = nodeOf(model.timeline.texts[span.name] ?? "", span, parent);
        parent.children.set(key, node);
      }
      node.ns += span.end - span.begin;
      node.self += span.self;
      ++node.count;
      if (!span.parent) root.self -= span.end - span.begin;
      nodes.set(span, node);
    }
  }
  return root;
}

export class FlameGraph {
  private readonly graph = el("div", { class: "flame", role: "group",
    "aria-label": "Flame graph. Arrows go to the caller, the called and the neighbours; Enter " +
      "fills the width with a bar." });
  private readonly words = el("p", { class: "explain" });
  private root: Node;
  private shown: Node;

  constructor(section: HTMLElement, private model: Model, private search: (name: string) => void) {
    const groups = this.groups();
    this.root = this.shown = nodeOf("", { layer: 0, kind: 0 }, null);
    if (groups.length === 0) return;
    section.hidden = false;
    const list = el("select", { "aria-label": "Which steps" });
    for (const [title] of groups) list.append(el("option", {}, title));
    const choose = () => {
      this.root = this.shown = mergePaths(model, groups[list.selectedIndex][1]);
      this.draw();
    };
    list.addEventListener("change", choose);
    this.graph.addEventListener("keydown", (event) => this.key(event));
    this.graph.addEventListener("pointerleave", hideTip);
    section.append(
      el("div", { class: "controls" }, list,
        button("Whole width", () => { this.shown = this.root; this.draw(); }),
        button("Find in the timeline", () => this.search(this.shown.name))),
      this.graph, this.words);
    choose();
  }

  // What can be merged: of each process all its windows together, and each by itself.
  private groups(): [string, Window[]][] {
    const groups: [string, Window[]][] = [];
    for (const lane of this.model.lanes) {
      const windows = this.model.windows.filter(({ detail }) => detail.process === lane.process.id);
      const of = this.model.lanes.length > 1 ? ` of ${lane.title}` : "";
      if (windows.length > 1) groups.push([`all ${windows.length} parts with spans${of}`, windows]);
      for (const window of windows) groups.push([window.detail.title + of, [window]]);
    }
    return groups;
  }

  private draw(): void {
    const bars: HTMLElement[] = [];
    let depth = 0;
    let narrow = 0;
    const callers: Node[] = [];
    for (let node: Node | null = this.shown; node; node = node.parent) callers.unshift(node);
    for (const caller of callers.slice(0, -1)) bars.push(this.bar(caller, 0, 1, depth++));
    const place = (node: Node, left: number, row: number) => {
      const width = node.ns / this.shown.ns;
      if (width < narrowest || row >= deepest) {
        ++narrow;
        return;
      }
      bars.push(this.bar(node, left, width, row));
      depth = Math.max(depth, row + 1);
      let at = left;
      for (const child of node.children.values()) {
        place(child, at, row + 1);
        at += child.ns / this.shown.ns;
      }
    };
    place(this.shown, 0, depth);
    this.graph.replaceChildren(...bars);
    this.graph.style.height = `${depth * rowHeight}px`;
    bars[0]?.setAttribute("tabindex", "0");
    const cut = narrow ? ` ${formatCount(narrow)} paths too narrow to draw are left out; click a ` +
      "bar to fill the width with it." : " Click a bar to fill the width with it.";
    this.words.textContent = "Spans of the lead thread, merged by the path of calls; a bar is as " +
      "wide as its time, and what it called lies below it. These steps were kept to show typical " +
      `and slow ones: they are no average of the run.${cut}`;
  }

  private bar(node: Node, left: number, width: number, row: number): HTMLElement {
    const layer = node.kind === 0 ? layerNames[node.layer] : "group";
    const share = formatPercent(node.ns, this.root.ns);
    const made = button(width > 0.03 ? node.name : "", () => {
      this.shown = node;
      hideTip();
      this.draw();
      this.graph.querySelector<HTMLElement>("[tabindex='0']")?.focus({ preventScroll: true });
    }, { class: `k-${layer}`, tabindex: -1, "data-row": row,
      "aria-label": `${node.name}, ${formatNs(node.ns)}, ${share}` });
    made.style.left = `${100 * left}%`;
    made.style.width = `${100 * width}%`;
    made.style.top = `${row * rowHeight}px`;
    if (layer !== "group") made.style.color = inkOn(layer);
    made.addEventListener("pointermove", (event) => showTip(node.name || "(no name)", [
      ["took", formatNs(node.ns)], ["itself", formatNs(Math.max(0, node.self))],
      ["share of all", share], ["calls", formatCount(node.count)],
    ], event.clientX, event.clientY));
    made.addEventListener("pointerleave", hideTip);
    return made;
  }

  private key(event: KeyboardEvent): void {
    const at = document.activeElement as HTMLElement | null;
    if (!at || at.parentElement !== this.graph) return;
    const bars = [...this.graph.children] as HTMLElement[];
    const row = Number(at.dataset.row);
    const edge = (bar: HTMLElement) => bar.getBoundingClientRect();
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0;
    let next: HTMLElement | undefined;
    if (step) {
      const inside = bars.filter((bar) => Number(bar.dataset.row) === row + step);
      const { left } = edge(at);
      next = inside.find((bar) => edge(bar).left <= left + 1 && edge(bar).right > left + 1) ??
        inside.find((bar) => edge(bar).left >= left);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const same = bars.filter((bar) => Number(bar.dataset.row) === row);
      next = same[same.indexOf(at) + (event.key === "ArrowLeft" ? -1 : 1)];
    } else {
      return;
    }
    event.preventDefault();
    if (!next) return;
    at.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
}
