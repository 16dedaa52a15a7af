// Brings the page to life: charts from the data in it, sorting and filtering for its tables.
import { addBars } from "./bars";
import { readData } from "./data";
import { StepsChart } from "./steps";
import { addPatterns } from "./stripes";
import { addTables } from "./tables";
import { TimelineChart } from "./timeline";
import { addTooltip } from "./tooltip";

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
  document.documentElement.dataset.ready = "yes";
}

start();
