// Elements made from parts. Text goes in as text and nothing else: names are never markup.

type Child = Node | string;
type Attributes = Record<string, string | number | boolean>;
const svgNamespace = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(svgNamespace, tag), attributes, children);
}

export function button(text: string, press: () => void, attributes: Attributes = {}) {
  const made = el("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", press);
  return made;
}

// A row of buttons of which one is on.
export function choice(
  label: string, options: [string, string][], chosen: string, choose: (value: string) => void,
): HTMLElement {
  const group = el("div", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of options) {
    const made = button(text, () => {
      for (const other of group.children) {
        other.setAttribute("aria-pressed", String(other === made));
      }
      choose(value);
    }, { "aria-pressed": String(value === chosen), "data-value": value });
    group.append(made);
  }
  return group;
}

// Backing pixels of a canvas as the screen has them; returns its size in CSS pixels.
export function fitCanvas(canvas: HTMLCanvasElement): { width: number; height: number } {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { width, height };
}
