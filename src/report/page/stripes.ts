// How a set of layers is painted: one layer in its colour, several as stripes of all of them,
// nothing known and control steps hatched.
import { svg } from "./dom";

const definitions = svg("defs");
const made = new Set<string>();

export function addPatterns(): void {
  document.body.append(
    svg("svg", { class: "patterns", width: 0, height: 0, "aria-hidden": "true" }, definitions));
}

function stripes(id: string, width: number, parts: [string, number, number][]): void {
  const pattern = svg("pattern", {
    id, width, height: width, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
  });
  for (const [style, from, size] of parts) {
    pattern.append(svg("rect", { class: style, x: from, y: 0, width: size, height: width }));
  }
  definitions.append(pattern);
}

function hatch(layer: string): void {
  stripes(`p-${layer}`, 6, [[`f-${layer}`, 0, 6], [`f-${layer}-line`, 0, 1.6]]);
}

// The value of the attribute `fill`, or a class that sets it.
export function paint(layers: string[], device: boolean): { fill: string } | { class: string } {
  if (layers.length === 0 && device) return { class: "f-device" };
  const single = layers.length === 0 ? "unknown" : layers.length === 1 ? layers[0] : "";
  if (single && !["unknown", "control", "overhead"].includes(single)) {
    return { class: `f-${single}` };
  }
  const id = `p-${single || layers.join("-")}`;
  if (!made.has(id)) {
    made.add(id);
    if (single) {
      hatch(single);
    } else {
      stripes(id, 6 * layers.length, layers.map((layer, i) => [`f-${layer}`, 6 * i, 6]));
    }
  }
  return { fill: `url(#${id})` };
}
