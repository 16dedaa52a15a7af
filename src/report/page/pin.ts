// The panel of what was clicked in the timeline: a span with everything that is known of it, or a
// step, a tile, a process.
import { PageData } from "./data";
import { button, el } from "./dom";
import { formatCount, formatNs, formatPercent } from "./format";
import { layerNames } from "./layers";
import { rowsNamed, showRow } from "./tables";
import { TimelineChart } from "./timeline";
import { Found } from "./timeline_hover";
import { laneOf, Span } from "./timeline_model";
import { say } from "./tooltip";

const kinds = ["span", "operation", "step", "phase"];
const rowsShown = 8;

export class Panel {
  readonly element = el("aside", {
    class: "panel", hidden: true, tabindex: -1, "aria-label": "What is pinned",
  });

  // `search` looks a name up.
  constructor(
    private chart: TimelineChart, private data: PageData, private search: (name: string) => void,
  ) {
  }

  show(found: Found | null): void {
    const within = this.element.contains(document.activeElement);
    this.element.hidden = found === null;
    if (!found && within) this.chart.pane.focus({ preventScroll: true });
    if (!found) return;
    const close = button("\u00d7", () => this.chart.unpin(),
      { class: "close", "aria-label": "Unpin" });
    this.element.replaceChildren(close, el("h3", {}, found.title || "(no name)"));
    if (found.span) this.fillSpan(found.span, found);
    else this.fillOther(found);
    this.element.scrollTop = 0;
    if (within) this.element.focus({ preventScroll: true });
    say(`Pinned ${found.title}`);
  }

  private list(lines: [string, Node | string][]): HTMLElement {
    const list = el("dl");
    for (const [what, value] of lines) {
      list.append(el("div", {}, el("dt", {}, what), el("dd", {}, value)));
    }
    return list;
  }

  private part(title: string, ...children: (Node | string)[]): void {
    this.element.append(el("h4", {}, title), ...children);
  }

  private nameOf(span: Span): string {
    return this.chart.model.timeline.texts[span.name] || "(no name)";
  }

  private link(span: Span, text = this.nameOf(span)): HTMLElement {
    return button(text, () => this.chart.revealSpan(span), { class: "go" });
  }

  private fillSpan(span: Span, found: Found): void {
    const length = span.end - span.begin;
    const cut = span.window.omitted.get(span.track) ?? 0;
    const layer = layerNames[span.layer];
    const lane = laneOf(this.chart.model, span.window.detail.process);
    const step = lane?.steps.find((s) => s.begin <= span.begin && span.begin < s.end);
    const lines: [string, Node | string][] = [
      ["what", kinds[span.kind] ?? kinds[0]],
      ["layer", span.layer
        ? el("span", {}, el("i", { class: `key k-${layer}` }), layer) : "not known"],
      ["took", formatNs(length)],
      ["itself", `${cut ? "at most " : ""}${formatNs(span.self)}` +
        (length ? `, ${formatPercent(span.self, length)}` : "")],
      ["from", formatNs(span.begin)],
      ["thread", found.row.lane.tracks[found.row.track]?.track.name ?? ""],
    ];
    if (lane && this.chart.model.lanes.length > 1) lines.push(["process", lane.title]);
    if (step) lines.push(["in", `${step.kind} ${step.step}`]);
    if (span.line > 0) lines.push(["called from", this.callerOf(span)]);
    const { begin, end } = span.window.detail;
    if (span.begin <= begin || span.end >= end) {
      lines.push(["", "It may reach beyond what the page keeps; its times are cut there."]);
    }
    this.element.append(this.list(lines));
    if (cut) {
      this.element.append(el("p", { class: "note" }, `${formatCount(cut)} of the shortest spans ` +
        "of this thread are left out here; their time counts for the span around them."));
    }
    this.addNeighbours(span);
    this.addArguments(span);
    this.addChain(span);
    this.addArrows("Leads to", this.chart.model.leadsTo.get(span.id), span);
    this.addArrows("Comes from", this.chart.model.comesFrom.get(span.id), span);
    this.addRows(found.title);
  }

  private callerOf(span: Span): string {
    let caller = span.parent;
    while (caller && layerNames[caller.layer] !== "python") caller = caller.parent;
    return `line ${span.line} of ${caller ? this.nameOf(caller) : "the Python function around it"}`;
  }

  private addNeighbours(span: Span): void {
    const all = span.window.spans.get(span.track) ?? [];
    const same = all.filter((other) => other.depth === span.depth);
    const at = same.indexOf(span);
    const inside = all.filter((other) => other.parent === span);
    const longest = inside.reduce<Span | null>(
      (best, s) => (!best || s.end - s.begin > best.end - best.begin ? s : best), null);
    const bar = el("div", { class: "controls" });
    const add = (text: string, to: Span | null | undefined) => {
      if (to) bar.append(button(text, () => this.chart.revealSpan(to)));
    };
    add("Previous", same[at - 1]);
    add("Next", same[at + 1]);
    add("Longest inside", longest);
    bar.append(button("Find all", () => this.search(this.nameOf(span))));
    this.element.append(bar);
  }

  private addArguments(span: Span): void {
    if (span.args === -1) return;
    if (span.args === -2) {
      this.part("Arguments", el("p", { class: "note" },
        "It has some; the page had no room for them. The table spans has those of operators: ",
        el("code", {}, `crosscut table ${this.data.run} spans`)));
      return;
    }
    const { texts, args } = this.chart.model.timeline;
    const fields = args[span.args] ?? [];
    const lines: [string, string][] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      lines.push([texts[fields[i]], texts[fields[i + 1]]]);
    }
    this.part("Arguments", this.list(lines));
  }

  private addChain(span: Span): void {
    const chain: Span[] = [];
    for (let at = span.parent; at; at = at.parent) chain.unshift(at);
    if (chain.length === 0) return;
    const list = el("ol", { class: "chain" });
    for (const parent of chain) list.append(el("li", {}, this.link(parent)));
    this.part("Inside of", list);
  }

  private addArrows(title: string, ids: number[] | undefined, span: Span): void {
    if (!ids?.length) return;
    const list = el("ul", { class: "chain" });
    const kept = ids.filter((id) => id >= 0).map((id) => this.chart.model.spans[id]);
    for (const other of kept.slice(0, rowsShown)) {
      const gap = title === "Leads to" ? other.begin - span.begin : span.begin - other.begin;
      const item = el("li", {}, this.link(other), ` ${formatNs(other.end - other.begin)}, begins ` +
        `${formatNs(Math.abs(gap))} ${title === "Leads to" ? "later" : "earlier"}`);
      list.append(item);
    }
    const more = kept.length - rowsShown;
    if (more > 0) list.append(el("li", { class: "note" }, `and ${formatCount(more)} more`));
    const away = ids.length - kept.length;
    if (away > 0) {
      list.append(el("li", { class: "note" },
        `${formatCount(away)} at a span that this page does not keep`));
    }
    this.part(title, list);
  }

  private addRows(name: string): void {
    const rows = rowsNamed(name);
    if (rows.length === 0) return;
    const list = el("ul", { class: "chain" });
    for (const { title, row } of rows.slice(0, rowsShown)) {
      const number = row.rowIndex;
      const go = button(`${title}, row ${number}`, () => showRow(row), { class: "go" });
      list.append(el("li", {}, go));
    }
    if (rows.length > rowsShown) {
      list.append(el("li", { class: "note" }, `and ${formatCount(rows.length - rowsShown)} more`));
    }
    this.part("In the tables", list);
  }

  // A step, a tile of the timeline, a process.
  private fillOther(found: Found): void {
    this.element.append(this.list(found.lines.map(([what, value]) => [what, value])));
    const bar = el("div", { class: "controls" });
    bar.append(button("Fill the view with it", () => this.chart.reveal(found.begin, found.end)));
    this.element.append(bar);
    if (!found.step) {
      if (found.row.track >= 0) {
        this.element.append(el("p", { class: "note" }, "The page keeps no single spans here: " +
          "this is the sum of a short time."));
        this.addRows(found.title);
      }
      return;
    }
    const { step } = found;
    const lane = this.chart.model.lanes.indexOf(found.row.lane);
    if (this.chart.isStepKept(lane, step)) {
      this.element.append(el("p", { class: "note" },
        "The page keeps its spans: they stand below the threads when it fills the view."));
    } else {
      this.element.append(el("p", { class: "note" },
        "The page keeps no spans of this step, only sums of short times. For a page with them: ",
        el("code", {}, `crosscut open ${this.data.run} --steps ${step.step}`)));
    }
  }
}
