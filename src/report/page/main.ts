// Brings the page to life: charts from the data in it, search, and sorting and filtering for its
// tables.
import { addBars } from "./bars";
import { addComparison, Run } from "./compare";
import { PageData, readData } from "./data";
import { FlameGraph } from "./flame";
import { Panel } from "./pin";
import { RangeTable } from "./range";
import { Search } from "./search";
import { StepsChart } from "./steps";
import { addPatterns } from "./stripes";
import { addTables } from "./tables";
import { TimelineChart } from "./timeline";
import { modelOf } from "./timeline_model";
import { addTooltip } from "./tooltip";

// The contents list what there is: a section that nothing was drawn in stays hidden.
function showContents(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>(".contents a")) {
    const section = document.getElementById(link.hash.slice(1));
    if (link.parentElement) link.parentElement.hidden = !section || section.hidden;
  }
}

// A link to a table unfolds it.
function unfold(): void {
  let name = location.hash.slice(1);
  try {
    name = decodeURIComponent(name);
  } catch {
    // A malformed link is the name of nothing, unless something has just that name.
  }
  const target = document.getElementById(name);
  const fold = target?.closest("details");
  if (fold) fold.open = true;
  target?.scrollIntoView();
}

function addTimeline(data: PageData): TimelineChart | null {
  const section = document.getElementById("timeline");
  return section && data.timeline ? new TimelineChart(section, data, data.timeline) : null;
}

// What hears of the timeline: the panel, the table of a range.
function attend(chart: TimelineChart, data: PageData, search: Search): void {
  const panel = new Panel(chart, data, (name) => search.lookUp(name));
  const range = new RangeTable(chart);
  chart.pane.after(panel.element, range.element);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) chart.unpin();
  });
  chart.listeners = {
    pinned: (found) => panel.show(found), chosen: (chosen) => range.show(chosen),
  };
}

// Two steps of the run, or one of each of two runs.
function compare(data: PageData, chart: TimelineChart | null, other: PageData | null): void {
  const section = document.getElementById("compare");
  const runOf = (title: string, of: PageData): Run[] =>
    of.timeline ? [{ title, model: modelOf(of, of.timeline) }] : [];
  const runs = other ? [...runOf("A", data), ...runOf("B", other)] : [];
  if (section && runs.length === 2) addComparison(section, runs);
  else if (section && chart) addComparison(section, [{ title: "", model: chart.model }]);
}

function start(): void {
  const data = readData("data");
  if (!data) return;
  addTooltip();
  addPatterns();
  const time = document.getElementById("time");
  if (time) addBars(time, data);
  const chart = addTimeline(data);
  const search = new Search(chart);
  document.querySelector(".contents")?.append(search.element);
  if (chart) attend(chart, data, search);
  const pace = document.getElementById("pace");
  if (pace) new StepsChart(pace, data, chart);
  compare(data, chart, readData("data-other"));
  const flame = document.getElementById("flame");
  if (flame && chart) new FlameGraph(flame, chart.model, (name) => search.lookUp(name));
  addTables();
  showContents();
  window.addEventListener("hashchange", unfold);
  if (location.hash) unfold();
  document.documentElement.dataset.ready = "yes";
}

start();
