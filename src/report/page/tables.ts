// Sorting and filtering of the tables that stand in the page; without scripts they read as they
// are.
import { el } from "./dom";
import { formatCount } from "./format";

type Order = "ascending" | "descending";
const filterFrom = 12;  // rows; a shorter table needs no filter

function compare(a: HTMLTableRowElement, b: HTMLTableRowElement, column: number): number {
  const one = a.cells[column];
  const two = b.cells[column];
  if (one.dataset.v === undefined) {
    return (one.textContent ?? "").localeCompare(two.textContent ?? "");
  }
  if (one.dataset.v === "" || two.dataset.v === "") {
    return Number(one.dataset.v !== "") - Number(two.dataset.v !== "");
  }
  return Number(one.dataset.v) - Number(two.dataset.v);
}

function sortBy(table: HTMLTableElement, column: number, order: Order): void {
  const body = table.tBodies[0];
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...body.rows].sort((a, b) => sign * compare(a, b, column));
  body.append(...rows);
}

function addSorting(table: HTMLTableElement): void {
  const heads = [...(table.tHead?.rows[0].cells ?? [])];
  heads.forEach((head, column) => {
    const press = el("button", { type: "button", class: "sort" });
    press.append(...head.childNodes);
    press.addEventListener("click", () => {
      const first: Order = head.classList.contains("n") ? "descending" : "ascending";
      const other: Order = first === "descending" ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      sortBy(table, column, order);
    });
    head.append(press);
  });
}

function addFilter(table: HTMLTableElement, title: string): void {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < filterFrom) return;
  const input = el("input", {
    type: "search", placeholder: "Filter rows", "aria-label": `Filter rows of ${title}`,
  });
  const count = el("span", { class: "note", role: "status" });
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of rows) {
      row.hidden = wanted !== "" && !(row.textContent ?? "").toLowerCase().includes(wanted);
    }
    const left = rows.filter((row) => !row.hidden).length;
    count.textContent =
      wanted ? `${formatCount(left)} of ${formatCount(rows.length)} rows` : "";
  });
  table.parentElement?.before(el("div", { class: "filter" }, input, " ", count));
}

// A faint bar behind the numbers by which the table is ordered.
function addSizes(table: HTMLTableElement): void {
  const heads = [...(table.tHead?.rows[0].cells ?? [])];
  const column = heads.findIndex((head) => head.title === table.dataset.by);
  if (column < 0) return;
  const cells = [...table.tBodies[0].rows].map((row) => row.cells[column]);
  const largest = Math.max(...cells.map((cell) => Number(cell.dataset.v)));
  if (!(largest > 0)) return;
  for (const cell of cells) {
    cell.classList.add("sized");
    cell.style.setProperty("--size", `${(100 * Number(cell.dataset.v)) / largest}%`);
  }
}

export function addTables(): void {
  for (const fold of document.querySelectorAll<HTMLDetailsElement>("details.table")) {
    const table = fold.querySelector("table");
    if (!table) continue;
    addSorting(table);
    addFilter(table, fold.querySelector("h3")?.textContent ?? "");
    addSizes(table);
  }
}

export interface TableHit { title: string; row: HTMLTableRowElement }

interface RowText { title: string; row: HTMLTableRowElement; texts: string[] }

let index: RowText[] | null = null;

// The rows of all tables with the texts in their cells; made when they are first asked for.
function rowTexts(): RowText[] {
  if (index) return index;
  index = [];
  for (const fold of document.querySelectorAll<HTMLDetailsElement>("details.table")) {
    const title = fold.querySelector("h3")?.textContent ?? "";
    for (const row of fold.querySelector("table")?.tBodies[0].rows ?? []) {
      const texts = [...row.cells].filter((cell) => !cell.classList.contains("n"))
        .map((cell) => cell.textContent ?? "");
      index.push({ title, row, texts });
    }
  }
  return index;
}

// The rows with a cell that is `name`.
export function rowsNamed(name: string): TableHit[] {
  return rowTexts().filter(({ texts }) => texts.includes(name));
}

// The rows with a cell that has `part` in it, in lower case.
export function rowsWith(part: string): TableHit[] {
  return rowTexts().filter(({ texts }) => texts.some((text) => text.toLowerCase().includes(part)));
}

// Unfolds a row's table and brings the row into view, marked.
export function showRow(row: HTMLTableRowElement): void {
  const fold = row.closest("details");
  if (fold) fold.open = true;
  for (const other of document.querySelectorAll("tr.found")) other.classList.remove("found");
  row.classList.add("found");
  row.hidden = false;
  row.scrollIntoView({ block: "center" });
}
