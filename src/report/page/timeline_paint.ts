// Paints, inks and texts of the timeline, kept until the colours change.
import { cssColour, hatched, layerColour } from "./layers";

export const font = (size: number, weight = 400) =>
  `${weight} ${size}px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif`;

let hatches = new Map<string, CanvasPattern | string>();

export function forgetColours(): void {
  hatches = new Map();
  inks = new Map();
}

// The paint of a layer: its colour, with lines for those that are told apart by hatching.
export function paintOf(context: CanvasRenderingContext2D, layer: string): CanvasPattern | string {
  if (!hatched.has(layer)) return layerColour(layer);
  let paint = hatches.get(layer);
  if (paint === undefined) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const brush = tile.getContext("2d")!;
    brush.fillStyle = layerColour(layer);
    brush.fillRect(0, 0, 6, 6);
    brush.strokeStyle = cssColour(`${layer}-line`);
    brush.lineWidth = 1.4;
    brush.beginPath();
    for (const shift of [-6, 0, 6]) {
      brush.moveTo(shift - 1, 7);
      brush.lineTo(shift + 7, -1);
    }
    brush.stroke();
    paint = context.createPattern(tile, "repeat") ?? layerColour(layer);
    hatches.set(layer, paint);
  }
  return paint;
}

// The relative luminance of a colour as six hexadecimal digits, as WCAG defines it.
function lightness(hex: string): number {
  const part = (at: number) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4);
}

// Black or white, whichever reads better on the layer's colour.
let inks = new Map<string, string>();
export function inkOn(layer: string): string {
  let ink = inks.get(layer);
  if (ink === undefined) {
    const hex = layerColour(layer).replace("#", "");
    const light = lightness(hex);
    const [dark, bright] = [lightness("0c0e12"), 1];
    const onDark = (light + 0.05) / (dark + 0.05);
    ink = onDark > (bright + 0.05) / (light + 0.05) ? "#0c0e12" : "#ffffff";
    inks.set(layer, ink);
  }
  return ink;
}

export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 14) return "";
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "\u2026").width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? text.slice(0, low) + "\u2026" : "";
}
