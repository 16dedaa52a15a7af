// One tooltip for all charts, and one line that screen readers hear.
import { el } from "./dom";

// [what, value] lines; a value alone where `what` is "".
export type Lines = [string, string][];

const box = el("div", { class: "tip", role: "tooltip", hidden: true });
const spoken = el("p", { class: "spoken", role: "status", "aria-live": "polite" });

export function addTooltip(): void {
  document.body.append(box, spoken);
  document.addEventListener("scroll", hideTip, { passive: true, capture: true });
}

export function showTip(title: string, lines: Lines, x: number, y: number): void {
  const list = el("dl");
  for (const [what, value] of lines) {
    list.append(el("div", {}, el("dt", {}, what), el("dd", {}, value)));
  }
  box.replaceChildren(el("p", {}, title), list);
  box.hidden = false;
  const width = box.offsetWidth;
  const height = box.offsetHeight;
  const left = x + 14 + width > window.innerWidth ? x - width - 14 : x + 14;
  const top = y + 16 + height > window.innerHeight ? y - height - 12 : y + 16;
  box.style.transform = `translate(${Math.max(4, left)}px,${Math.max(4, top)}px)`;
}

export function hideTip(): void {
  box.hidden = true;
}

export function say(text: string): void {
  spoken.textContent = text;
}
