/** Runs over time, stacked by how they ended. Loaded when needed. */
import "uplot/dist/uPlot.min.css";

import { useEffect, useRef } from "react";
import UPlot from "uplot";

import type { Schema } from "@/api/client";
import { countOf, dayOf, STACK, stacked } from "./day";
import styles from "./Overview.module.css";

type Hour = Schema<"Hour">;

const COLOURS: Record<(typeof STACK)[number], string> = { completed: "--ok", failed: "--bad", cancelled: "--still", running: "--run", pending: "--line-strong" };

export default function RunsChart({ hours }: { hours: Hour[] }) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const latest = useRef(hours);
  latest.current = hours;
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new UPlot(options(element, () => latest.current), dataOf(latest.current), element);
    };
    draw();
    const sized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: element.clientHeight }));
    sized.observe(element);
    // Colours are read once, when it is drawn: another theme means another drawing.
    const themed = new MutationObserver(draw);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      sized.disconnect();
      themed.disconnect();
      dark.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(hours)), [hours]);
  const day = dayOf(hours);
  return (
    <figure className={styles["figure"]}>
      <div ref={holder} className={styles["plot"]} aria-hidden="true" />
      <figcaption className={styles["legend"]}>
        <span className="visually-hidden">In the last 24 hours: {day.total} runs, {day.completed} completed, {day.failed} failed.</span>
        {STACK.map((status) => <span key={status} aria-hidden="true"><i className={styles[status]} /> {status} <b>{countOf(hours, status).toLocaleString("en")}</b></span>)}
      </figcaption>
    </figure>
  );
}

/** The highest part first: what is drawn later covers its foot. */
function dataOf(hours: Hour[]): UPlot.AlignedData {
  return [hours.map((hour) => Date.parse(hour.hour) / 1000), ...stacked(hours).reverse()] as UPlot.AlignedData;
}

/** A token's colour as a canvas takes it: as written, it may be one for light and one for dark. */
function colourIn(element: HTMLElement): (name: string) => string {
  return (name) => {
    element.style.color = `var(${name})`;
    const found = getComputedStyle(element).color;
    element.style.color = "";
    return found;
  };
}

function options(element: HTMLElement, hours: () => Hour[]): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = colourIn(element);
  const bars = UPlot.paths.bars?.({ size: [0.7, 40], radius: 0.12 });
  const axis = { stroke: colour("--ink-3"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: `11px ${style.getPropertyValue("--font")}` };
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    legend: { show: false },
    cursor: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    scales: { x: { time: true, range: (_, low, high) => [low - 1800, high + 1800] }, y: { range: (_, __, high) => [0, Math.max(4, Math.ceil(high * 1.1))] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, space: 60, values: (_, ticks) => ticks.map((tick) => new Date(tick * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })) },
      { ...axis, size: 42, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6] },
    ],
    series: [{}, ...[...STACK].reverse().map((status) => ({ label: status, fill: colour(COLOURS[status]), width: 0, points: { show: false }, ...(bars ? { paths: bars } : {}) }))],
    hooks: { ready: [(made) => tooltip(made, hours)] },
  };
}

/** The numbers of the hour under the pointer, as the browser's own tooltip. */
function tooltip(made: UPlot, hours: () => Hour[]): void {
  made.over.addEventListener("pointermove", (event) => {
    const hour = hours()[made.posToIdx(event.offsetX)];
    if (!hour) return;
    const counts = STACK.filter((status) => hour.counts[status]).map((status) => `${hour.counts[status]} ${status}`);
    made.over.title = `${new Date(hour.hour).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}: ${counts.join(", ") || "nothing ran"}`;
  });
}
