// Times, counts and shares as the tables write them (numbers.cc).

const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"]];

export function formatNs(ns: number): string {
  const size = Math.abs(ns);
  for (const [unit, name] of units) {
    if (size < unit * 0.99995) continue;
    const value = ns / unit;
    const whole = Math.abs(value);
    if (whole >= 9999.5) return `${formatCount(Math.round(value))} ${name}`;
    const decimals = whole >= 999.95 ? 0 : whole >= 99.995 ? 1 : whole >= 9.9995 ? 2 : 3;
    return `${value.toFixed(decimals)} ${name}`;
  }
  return `${Math.round(ns)} ns`;
}

export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function formatPercent(part: number, whole: number): string {
  if (!whole) return "";
  const percent = (100 * part) / whole;
  return `${percent.toFixed(Math.abs(percent) < 9.995 ? 2 : 1)} %`;
}

// The largest of 1, 2, 5 x 10^k that is at most `size`: distances of axis marks.
export function roundStep(size: number): number {
  const power = Math.pow(10, Math.floor(Math.log10(size)));
  const lead = size / power;
  return (lead >= 5 ? 5 : lead >= 2 ? 2 : 1) * power;
}

// A mark on an axis whose marks are `step` apart: one unit and as many decimals as the step needs.
export function formatMark(ns: number, step: number, span: number): string {
  const [unit, name] = units.find(([u]) => span >= u) ?? [1, "ns"];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return `${(ns / unit).toFixed(Math.min(decimals, 9))} ${name}`;
}
