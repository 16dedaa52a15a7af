// One search over the spans that the page keeps and the rows of its tables. A hit moves the
// timeline or the table into view.
import { el } from "./dom";
import { formatCount, formatNs } from "./format";
import { rowsWith, showRow } from "./tables";
import { TimelineChart } from "./timeline";
import { Span } from "./timeline_model";
import { say } from "./tooltip";

const hitsShown = 200;

interface Hit {
  text: string;
  where: string;
  places: number;
  go(place: number): void;
}

export class Search {
  private readonly input = el("input", {
    type: "search", placeholder: "Search (press /)", "aria-label": "Search spans and tables",
    role: "combobox", "aria-expanded": "false", "aria-controls": "hits", autocomplete: "off",
  });
  private readonly list = el("ol", { id: "hits", role: "listbox", "aria-label": "Hits" });
  private readonly count = el("p", { class: "note", role: "status" });
  private readonly box = el("div", { class: "hits", hidden: true }, this.count, this.list);
  readonly element = el("div", { class: "search", role: "search" }, this.input, this.box);
  private hits: Hit[] = [];
  private chosen = -1;
  private place = -1;  // of the chosen hit
  private byName: Map<number, Span[]> | null = null;

  constructor(private chart: TimelineChart | null) {
    this.input.addEventListener("input", () => this.find(this.input.value));
    this.input.addEventListener("focus", () => { if (this.hits.length) this.open(true); });
    this.input.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => {
      const inField = event.target instanceof HTMLInputElement ||
        event.target instanceof HTMLSelectElement;
      if (event.key !== "/" || inField || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.input.focus();
      this.input.select();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!this.element.contains(event.target as Node)) this.open(false);
    });
  }

  lookUp(text: string): void {
    this.input.value = text;
    this.find(text);
    this.input.focus();
  }

  private spans(): Map<number, Span[]> {
    if (this.byName) return this.byName;
    this.byName = new Map();
    for (const span of this.chart?.model.spans ?? []) {
      const list = this.byName.get(span.name);
      if (list) list.push(span);
      else this.byName.set(span.name, [span]);
    }
    for (const list of this.byName.values()) list.sort((a, b) => a.begin - b.begin);
    return this.byName;
  }

  private find(text: string): void {
    const wanted = text.trim().toLowerCase();
    this.chosen = -1;
    this.place = -1;
    this.hits = [];
    if (wanted) {
      const found: { name: string; spans: Span[] }[] = [];
      for (const [name, spans] of this.spans()) {
        const words = this.chart?.model.timeline.texts[name] ?? "";
        if (words.toLowerCase().includes(wanted)) found.push({ name: words, spans });
      }
      found.sort((a, b) => Number(b.name.toLowerCase() === wanted) -
        Number(a.name.toLowerCase() === wanted) || b.spans.length - a.spans.length);
      this.hits = found.map(({ name, spans }) => this.spanHit(name, spans));
      for (const { title, row } of rowsWith(wanted)) {
        const text = [...row.cells].find((cell) =>
          !cell.classList.contains("n") && cell.textContent?.toLowerCase().includes(wanted));
        this.hits.push({
          text: text?.textContent ?? "", where: `table ${title}, row ${row.rowIndex}`, places: 1,
          go: () => showRow(row),
        });
      }
    }
    this.draw(wanted);
  }

  private spanHit(name: string, spans: Span[]): Hit {
    const sum = spans.reduce((ns, span) => ns + span.end - span.begin, 0);
    return {
      text: name, places: spans.length,
      where: `${formatCount(spans.length)} kept ${spans.length === 1 ? "span" : "spans"}, ` +
        formatNs(sum),
      go: (place) => this.chart?.revealSpan(spans[place]),
    };
  }

  private draw(wanted: string): void {
    this.input.removeAttribute("aria-activedescendant");
    const places = this.hits.reduce((all, hit) => all + hit.places, 0);
    const shown = this.hits.slice(0, hitsShown);
    this.count.textContent = this.hits.length === 0
      ? "Nothing on this page has that in its name. It has the spans of some steps and the first " +
        "rows of each table; more is not searched."
      : `${formatCount(places)} hits under ${formatCount(this.hits.length)} entries` +
        (shown.length < this.hits.length ? `; the first ${hitsShown} are listed` : "") +
        ". Enter goes to the next one.";
    this.list.replaceChildren(...shown.map((hit, i) => {
      const item = el("li", { role: "option", id: `hit-${i}`, "aria-selected": "false" },
        el("b", {}, hit.text), " ", el("span", {}, hit.where));
      item.addEventListener("click", () => {
        this.choose(i);
        this.advance();
      });
      return item;
    }));
    this.open(wanted !== "");
  }

  private open(open: boolean): void {
    this.box.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
  }

  private choose(index: number): void {
    const items = this.list.children;
    if (index < 0 || index >= items.length) return;
    items[this.chosen]?.setAttribute("aria-selected", "false");
    if (index !== this.chosen) this.place = -1;
    this.chosen = index;
    items[index].setAttribute("aria-selected", "true");
    items[index].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `hit-${index}`);
  }

  // To the next place of the chosen hit, behind its last one to the next hit.
  private advance(): void {
    if (this.hits.length === 0) return;
    if (this.chosen < 0) this.choose(0);
    if (this.place + 1 >= this.hits[this.chosen].places && this.place >= 0) {
      this.choose((this.chosen + 1) % this.list.children.length);
      this.place = -1;
    }
    const hit = this.hits[this.chosen];
    ++this.place;
    hit.go(this.place);
    this.input.focus({ preventScroll: true });
    const which = hit.places > 1 ? `, ${this.place + 1} of ${hit.places}` : "";
    say(`${hit.text}${which}`);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "ArrowDown") this.choose(Math.min(this.chosen + 1, this.hits.length - 1));
    else if (event.key === "ArrowUp") this.choose(Math.max(this.chosen - 1, 0));
    else if (event.key === "Enter") this.advance();
    else if (event.key === "Escape") {
      this.input.value = "";
      this.find("");
      this.chart?.unpin();
      this.input.blur();
    } else return;
    event.preventDefault();
  }
}
