// Mouse, touch and keys of the timeline: they move its view, choose a range, point and pin.
import { View } from "./timeline_view";

// What the chart does for its input. Times in ns, y from the top of all rows.
export interface InputTarget {
  readonly view: View;
  readonly pane: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly choosing: boolean;  // a drag chooses a range
  timeAt(x: number): number;   // x as in clientX
  rowsY(y: number): number;
  inLabels(x: number): boolean;
  perPixel(): number;
  point(x: number, y: number): void;   // shows what lies there; pin() keeps it
  pin(x: number, y: number): void;
  fold(y: number): void;
  fill(x: number, y: number): void;
  choose(begin: number, end: number, y: number): void;  // `y`: where the drag began
  leave(): void;
  moved(): void;                       // the view changed
  key(key: string): boolean;           // of what is not moving or zooming; whether it was one
}

const still = 5;  // px that a finger or a mouse may move in a click

interface Finger { x: number; y: number }

export class Input {
  private readonly fingers = new Map<number, Finger>();
  private start: Finger & { time: number; shift: boolean } = { x: 0, y: 0, time: 0, shift: false };
  private dragged = false;

  constructor(private target: InputTarget) {
    const { canvas, pane } = target;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event, true));
    canvas.addEventListener("pointercancel", (event) => this.up(event, false));
    canvas.addEventListener("pointerleave", () => target.leave());
    canvas.addEventListener("dblclick", (event) => target.fill(event.clientX, event.clientY));
    pane.addEventListener("keydown", (event) => this.key(event));
  }

  // The plain wheel scrolls the page.
  private wheel(event: WheelEvent): void {
    const { view } = this.target;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey) {
      const pixels = event.deltaY * (event.deltaMode === 1 ? 33 : 1);
      view.zoom(Math.exp(Math.max(-300, Math.min(300, pixels)) / 400),
        this.target.timeAt(event.clientX));
    } else if (event.shiftKey || sideways) {
      view.pan((event.deltaX || event.deltaY) * this.target.perPixel());
    } else {
      return;
    }
    event.preventDefault();
    this.target.leave();
    this.target.moved();
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.target.pane.focus({ preventScroll: true });
    const { clientX: x, clientY: y } = event;
    if (this.fingers.size === 0) {
      this.start = { x, y, time: this.target.timeAt(x), shift: event.shiftKey };
      this.dragged = false;
    }
    this.fingers.set(event.pointerId, { x, y });
    if (this.fingers.size > 1) this.dragged = true;
    this.target.canvas.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    const { target, start } = this;
    const last = this.fingers.get(event.pointerId);
    const { clientX: x, clientY: y } = event;
    if (!last) {
      if (event.pointerType === "mouse") target.point(x, y);
      return;
    }
    if (!this.dragged && Math.hypot(x - start.x, y - start.y) < still) return;
    this.dragged = true;
    target.leave();
    target.canvas.classList.add("dragging");
    if (this.fingers.size > 1) {
      this.pinch(event.pointerId, last, { x, y });
    } else if (target.choosing || start.shift) {
      const at = target.timeAt(x);
      target.choose(Math.min(start.time, at), Math.max(start.time, at), target.rowsY(start.y));
    } else if (!target.inLabels(start.x)) {
      target.view.pan((last.x - x) * target.perPixel());
      if (event.pointerType === "mouse") target.pane.scrollTop += last.y - y;
    }
    this.fingers.set(event.pointerId, { x, y });
    target.moved();
  }

  // The time under each of two fingers stays there.
  private pinch(id: number, before: Finger, after: Finger): void {
    const other = [...this.fingers].find(([key]) => key !== id)?.[1];
    if (!other) return;
    const was = Math.max(12, Math.abs(before.x - other.x));
    const is = Math.max(12, Math.abs(after.x - other.x));
    this.target.view.zoom(was / is, this.target.timeAt(other.x));
  }

  private up(event: PointerEvent, done: boolean): void {
    if (!this.fingers.delete(event.pointerId) || this.fingers.size > 0) return;
    const { target } = this;
    target.canvas.classList.remove("dragging");
    if (!done || this.dragged) return;
    const { clientX: x, clientY: y } = event;
    if (target.inLabels(x)) target.fold(y);
    else target.pin(x, y);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target !== this.target.pane) return;
    const { view, pane } = this.target;
    const zoom = (factor: number) => view.zoom(factor, (view.begin + view.end) / 2);
    const actions: Record<string, () => void> = {
      "+": () => zoom(0.6), "=": () => zoom(0.6), w: () => zoom(0.6),
      "-": () => zoom(1 / 0.6), s: () => zoom(1 / 0.6),
      ArrowLeft: () => view.pan(-view.span / 8), a: () => view.pan(-view.span / 8),
      ArrowRight: () => view.pan(view.span / 8), d: () => view.pan(view.span / 8),
      ArrowUp: () => { pane.scrollTop -= 48; }, ArrowDown: () => { pane.scrollTop += 48; },
      0: () => view.whole(), Home: () => view.whole(),
    };
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = actions[name];
    if (action) action();
    else if (!this.target.key(name)) return;
    event.preventDefault();
    this.target.leave();
    this.target.moved();
  }
}
