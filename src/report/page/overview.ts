// The strip above the timeline: the whole run at a glance, and which part of it is seen.
import { el, fitCanvas } from "./dom";
import { cssColour, layerColour, layerNames, stackOrder } from "./layers";
import { levelFor, Tiles } from "./timeline_model";
import { View } from "./timeline_view";

const edge = 7;  // px around a border of the window that take hold of it

export class Overview {
  readonly canvas = el("canvas", { class: "overview", "aria-hidden": "true" });

  // `changed` is called when the user moved the window.
  constructor(private view: View, private gutter: () => number, private changed: () => void) {
    this.canvas.addEventListener("pointerdown", (event) => this.drag(event));
  }

  private at(x: number): number {
    const { begin, end } = this.view.model.timeline;
    const width = this.canvas.clientWidth - this.gutter();
    return begin + ((x - this.gutter()) / width) * (end - begin);
  }

  private place(ns: number): number {
    const { begin, end } = this.view.model.timeline;
    const width = this.canvas.clientWidth - this.gutter();
    return this.gutter() + ((ns - begin) / (end - begin)) * width;
  }

  draw(): void {
    const { width, height } = fitCanvas(this.canvas);
    const context = this.canvas.getContext("2d");
    if (!context || width <= this.gutter()) return;
    context.fillStyle = cssColour("surface");
    context.fillRect(0, 0, width, height);
    const { begin, end } = this.view.model.timeline;
    const lane = this.view.model.lanes[0];
    const tiles = lane && lane.tracks.length
      ? levelFor(lane.tracks[0].levels, (2 * (end - begin)) / (width - this.gutter())) : undefined;
    if (tiles) this.drawTiles(context, tiles, height);
    this.drawWindow(context, width, height);
    context.fillStyle = cssColour("soft");
    context.font = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
    context.textBaseline = "middle";
    context.fillText("whole run", 20, height / 2);
  }

  private drawTiles(context: CanvasRenderingContext2D, tiles: Tiles, height: number): void {
    const room = height - 8;
    for (let run = 0; run < tiles.first.length; ++run) {
      const left = Math.round(this.place(tiles.first[run] * tiles.tile));
      const right = Math.round(this.place((tiles.first[run] + tiles.count[run]) * tiles.tile));
      let bottom = height - 4;
      for (const name of stackOrder) {
        const share = tiles.share[run * layerNames.length + layerNames.indexOf(name)];
        if (!share || name === "unknown") continue;
        context.fillStyle = name === "idle" ? cssColour("waits") : layerColour(name);
        context.fillRect(left, bottom - (room * share) / 255, Math.max(1, right - left),
          (room * share) / 255);
        bottom -= (room * share) / 255;
      }
    }
  }

  private drawWindow(context: CanvasRenderingContext2D, width: number, height: number): void {
    const left = this.place(this.view.begin);
    const right = this.place(this.view.end);
    context.fillStyle = cssColour("veil");
    context.fillRect(this.gutter(), 0, left - this.gutter(), height);
    context.fillRect(right, 0, width - right, height);
    context.strokeStyle = cssColour("accent");
    context.lineWidth = 2;
    context.strokeRect(left + 1, 1, Math.max(2, right - left - 2), height - 2);
  }

  private drag(event: PointerEvent): void {
    const x = event.offsetX;
    const left = this.place(this.view.begin);
    const right = this.place(this.view.end);
    const start = this.at(x);
    const { begin, end } = this.view;
    let move: (at: number) => void;
    if (Math.abs(x - left) < edge) {
      move = (at) => this.view.show(Math.min(at, end), end);
    } else if (Math.abs(x - right) < edge) {
      move = (at) => this.view.show(begin, Math.max(at, begin));
    } else if (x > left && x < right && !this.view.isWhole()) {
      move = (at) => this.view.show(begin + at - start, end + at - start);
    } else {
      move = (at) => this.view.show(Math.min(start, at), Math.max(start, at));
    }
    this.canvas.setPointerCapture(event.pointerId);
    const moved = (next: PointerEvent) => {
      if (Math.abs(next.offsetX - x) < 2) return;
      move(this.at(next.offsetX));
      this.changed();
    };
    const done = () => {
      this.canvas.removeEventListener("pointermove", moved);
      this.canvas.removeEventListener("pointerup", done);
      this.canvas.removeEventListener("pointercancel", done);
    };
    this.canvas.addEventListener("pointermove", moved);
    this.canvas.addEventListener("pointerup", done);
    this.canvas.addEventListener("pointercancel", done);
  }
}
