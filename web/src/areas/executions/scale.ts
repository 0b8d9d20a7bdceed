/** Times on a line: from when to when, where a bar stands, which marks are round. */
import type { Placed } from "./steps";

export interface Span {
  from: number;
  to: number;
}

const LEAST = 1; // milliseconds: what took no time still needs a scale
const GROWS = 1.03; // while something runs, by so much at a time: every bar is drawn anew by it

/** From the first start to the last end; while something runs, to some time after now. */
export function spanOf(all: readonly Placed[], now: number): Span {
  let [from, to, runs] = [Infinity, -Infinity, false];
  for (const { began, ended } of all) {
    if (began === null) continue;
    from = Math.min(from, began);
    to = Math.max(to, ended ?? Math.max(began, now));
    runs ||= ended === null;
  }
  if (from > to) return { from: now, to: now + LEAST };
  const whole = Math.max(to - from, LEAST);
  return { from, to: from + (runs ? GROWS ** Math.ceil(Math.log(whole) / Math.log(GROWS)) : whole) };
}

/** In percent of the span, so that zooming and growing redraw nothing but the line itself. */
export function barOf(from: number, to: number, span: Span): { left: string; width: string } {
  const whole = span.to - span.from;
  const left = Math.min(100, Math.max(0, ((from - span.from) / whole) * 100));
  const right = Math.min(100, Math.max(left, ((to - span.from) / whole) * 100));
  return { left: `${left}%`, width: `${right - left}%` };
}

const ROUND = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1.5e4, 3e4, 6e4, 1.2e5, 3e5, 6e5, 9e5, 1.8e6, 3.6e6, 7.2e6, 1.08e7, 2.16e7, 4.32e7, 8.64e7];

/** Round marks between two times (milliseconds from the beginning), at least so far apart. */
export function marks(from: number, to: number, apart: number): number[] {
  const day = ROUND.at(-1) ?? 1;
  const step = ROUND.find((one) => one >= apart) ?? Math.ceil(apart / day) * day;
  const found: number[] = [];
  for (let at = Math.ceil(Math.max(0, from) / step) * step; at <= to; at += step) found.push(at);
  return found;
}

/** `0`, `250 ms`, `1.5 s`, `2:05`, `1:02:05`. */
export function markWords(ms: number): string {
  if (ms === 0) return "0";
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${ms / 1000} s`;
  const seconds = Math.floor(ms / 1000);
  const two = (number: number) => String(number).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const rest = `${two(seconds % 60)}${ms % 1000 ? `.${String(ms % 1000).padStart(3, "0")}` : ""}`;
  return hours ? `${hours}:${two(Math.floor(seconds / 60) % 60)}:${rest}` : `${Math.floor(seconds / 60)}:${rest}`;
}
