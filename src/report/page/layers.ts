// The layers and their colours. Colours stand in page.css as --python and so on, so that the
// tables, the bars and the canvases agree, in light and dark.

// By the number of trace::Layer; 0 is unknown.
export const layerNames = [
  "unknown", "python", "framework", "runtime", "simulator", "data", "comm", "native", "idle",
  "overhead", "device", "control",
];

export const layerMeanings: Record<string, string> = {
  python: "Python code",
  framework: "the framework's own C++",
  runtime: "calls into a device runtime, waiting for a device included",
  simulator: "a simulator",
  data: "loading and preparing data",
  comm: "communication between processes",
  native: "other native code",
  idle: "every known thread waits",
  overhead: "Crosscut's own work",
  device: "a device is busy",
  control: "steps with the probes off: control steps, to measure Crosscut's cost, and those that"
    + " the budget left out",
  unknown: "nothing known",
};

// In which order layers are stacked.
export const stackOrder = [
  "python", "framework", "native", "runtime", "simulator", "data", "comm", "overhead", "device",
  "idle", "control", "unknown",
];

export function layersOf(set: string): string[] {
  return set === "" ? [] : set.split("+");
}

// Layers that hatching tells apart, whatever the eyes.
export const hatched = new Set(["control", "unknown", "overhead"]);

let cache = new Map<string, string>();

// The value of --name in page.css, as it is now.
export function cssColour(name: string): string {
  let colour = cache.get(name);
  if (colour === undefined) {
    colour = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    cache.set(name, colour);
  }
  return colour;
}

export function layerColour(name: string): string {
  return cssColour(layerNames.includes(name) ? name : "unknown");
}

// Calls `redraw` when the page goes from light to dark or back.
export function onThemeChange(redraw: () => void): void {
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    cache = new Map();
    redraw();
  });
}
