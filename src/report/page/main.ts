// Brings the page to life: charts from the data in it, sorting and filtering for its tables.
import { addBars } from "./bars";
import { readData } from "./data";
import { StepsChart } from "./steps";
import { addPatterns } from "./stripes";
import { addTables } from "./tables";
import { TimelineChart } from "./timeline";
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
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold = target?.closest("details");
  if (fold) fold.open = true;
  target?.scrollIntoView();
}

function start(): void {
  const data = readData();
  addTooltip();
  addPatterns();
  const time = document.getElementById("time");
  if (time) addBars(time, data);
  const section = document.getElementById("timeline");
  const timeline = section && data.timeline
    ? new TimelineChart(section, data, data.timeline) : null;
  const pace = document.getElementById("pace");
  if (pace) {
    new StepsChart(pace, data, timeline ? (begin, end) => timeline.reveal(begin, end) : null);
  }
  addTables();
  showContents();
  window.addEventListener("hashchange", unfold);
  if (location.hash) unfold();
  document.documentElement.dataset.ready = "yes";
}

start();
