/** Steps as a waterfall. Only what is in sight is drawn; arrows move, plus and minus zoom, a running step grows. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type KeyboardEvent, type RefObject, memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { Button, Icon, IconButton, type IconName } from "@/components";
import { KindIcon } from "@/graph";
import { followed } from "@/live";
import { duration } from "@/lib/times";
import styles from "./Timeline.module.css";
import { useNow } from "./RunningTime";
import { barOf, marks, markWords, type Span, spanOf } from "./scale";
import { isOver, type Placed } from "./steps";

const ROW = 28; // pixels
const APART = 90; // pixels between marks, at least
const WIDEST = 10_000_000; // pixels: browsers draw nothing sensible beyond
const STATUS_ICON: Record<string, IconName> = { completed: "check", failed: "cross", running: "refresh", pending: "clock", skipped: "skip", cancelled: "dash" };

interface TimelineProps {
  all: readonly Placed[];
  live: boolean;
  chosen: number | null;
  onChoose: (step: number | null) => void;
}

export function Timeline({ all, live, chosen, onChoose }: TimelineProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const now = useNow(live, 250);
  const until = live ? now : 0;
  const reached = spanOf(all, until);
  // The same as long as its ends are: then no row is drawn anew.
  const span = useMemo(() => ({ from: reached.from, to: reached.to }), [reached.from, reached.to]);
  const view = useView(scroll);
  const line = Math.max(1, Math.min(WIDEST, (view.width - view.names) * zoom));
  const count = all.length;
  // While it runs, one sees what begins; who scrolls or chooses a step looks at that instead.
  const [wanted, setFollowing] = useState(live && chosen === null);
  const following = wanted && live;
  const virtual = useVirtualizer({ count, getScrollElement: () => scroll.current, estimateSize: () => ROW, overscan: 15, paddingStart: ROW, ...followed(following) });

  // What is in the middle stays there when one zooms.
  const middle = useRef<number | null>(null);
  const zoomBy = useCallback((factor: number, at?: number) => {
    const element = scroll.current;
    if (!element) return;
    const inside = element.clientWidth - view.names;
    const centre = at ?? inside / 2;
    setZoom((was) => {
      const next = Math.min(WIDEST / Math.max(1, inside), Math.max(1, was * factor));
      middle.current = ((element.scrollLeft + centre) / was) * next - centre;
      return next;
    });
  }, [view.names]);
  useLayoutEffect(() => {
    if (middle.current === null || !scroll.current) return;
    scroll.current.scrollLeft = middle.current;
    middle.current = null;
  }, [zoom]);

  useEffect(() => {
    const element = scroll.current;
    if (!element) return;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? 1.25 : 0.8, event.clientX - element.getBoundingClientRect().left - view.names);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [zoomBy, view.names]);

  const at = chosen === null ? -1 : all.findIndex(({ step }) => step.sequence_num === chosen);
  const shownFirst = useRef(false);
  useEffect(() => {
    if (shownFirst.current || at < 0) return;
    shownFirst.current = true;
    virtual.scrollToIndex(at, { align: "center" });
  }, [at, virtual]);

  useLayoutEffect(() => {
    if (following && scroll.current) scroll.current.scrollTop = scroll.current.scrollHeight;
  }, [following, count]);
  const looked = () => setFollowing(false);

  const go = (index: number) => {
    looked();
    const next = all[Math.min(all.length - 1, Math.max(0, index))];
    if (!next) return;
    onChoose(next.step.sequence_num);
    virtual.scrollToIndex(all.indexOf(next));
  };
  const press = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((scroll.current?.clientHeight ?? ROW) / ROW) - 2);
    const moves: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      PageDown: () => go(at + page),
      PageUp: () => go(at - page),
      Home: () => go(0),
      End: () => go(all.length - 1),
      Escape: () => onChoose(null),
      "+": () => zoomBy(1.5),
      "=": () => zoomBy(1.5),
      "-": () => zoomBy(1 / 1.5),
      "0": () => setZoom(1),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move();
  };

  return (
    <div className={styles["timeline"]}>
      <div className={styles["tools"]}>
        <IconButton label="Zoom in" icon="plus" size="small" onClick={() => zoomBy(1.5)} />
        <IconButton label="Zoom out" icon="dash" size="small" disabled={zoom <= 1} onClick={() => zoomBy(1 / 1.5)} />
        {live && <Button size="small" kind="quiet" icon={following ? "check" : "down"} aria-pressed={following} onClick={() => setFollowing(!following)}>Follow</Button>}
        <span className={styles["hint"]}>{zoom > 1 ? `${zoom < 10 ? zoom.toFixed(1) : Math.round(zoom).toLocaleString("en")}×` : "Ctrl and the wheel zoom; arrows move from step to step"}</span>
      </div>
      <div
        ref={scroll}
        className={styles["scroll"]}
        role="listbox"
        aria-label="Steps in time"
        tabIndex={0}
        aria-activedescendant={at >= 0 ? `step-${chosen}` : undefined}
        onKeyDown={press}
        onWheel={looked}
        onPointerDown={looked}
      >
        <div role="presentation" className={styles["sheet"]} style={{ height: virtual.getTotalSize(), width: view.names + line, "--names": `${view.names}px` } as CSSProperties}>
          <Ruler span={span} line={line} view={view} />
          {virtual.getVirtualItems().map((item) => {
            const one = all[item.index];
            return one && <Row key={item.key} one={one} index={item.index} count={live ? -1 : count} top={item.start} span={span} now={isOver(one.step) ? 0 : now} chosen={item.index === at} onChoose={onChoose} />;
          })}
        </div>
      </div>
    </div>
  );
}

interface View {
  width: number;
  names: number;
  left: number;
}

/** The size of the window on the sheet, and how far it is scrolled sideways. */
function useView(scroll: RefObject<HTMLDivElement | null>): View {
  const [view, setView] = useState<View>({ width: 800, names: 260, left: 0 });
  useLayoutEffect(() => {
    const element = scroll.current;
    if (!element) return;
    const read = () => setView((was) => {
      const width = element.clientWidth;
      const names = width < 640 ? Math.min(150, width * 0.42) : Math.min(360, Math.max(200, width * 0.28));
      const left = element.scrollLeft;
      return was.width === width && was.left === left ? was : { width, names, left };
    });
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener("scroll", read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", read);
    };
  }, [scroll]);
  return view;
}

function Ruler({ span, line, view }: { span: Span; line: number; view: View }) {
  const whole = span.to - span.from;
  const perPixel = whole / line;
  const from = view.left * perPixel;
  const to = (view.left + view.width - view.names) * perPixel;
  return (
    <div className={styles["ruler"]} aria-hidden="true">
      <div className={styles["corner"]} style={{ width: view.names }}>Step</div>
      <div className={styles["marks"]}>
        {marks(from - whole / 1000, Math.min(to, whole), APART * perPixel).map((mark) => (
          <span key={mark} className={styles["mark"]} style={{ left: `${(mark / whole) * 100}%` }}>{markWords(mark)}</span>
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  one: Placed;
  index: number;
  /** -1 while nobody knows how many there will be. */
  count: number;
  top: number;
  span: Span;
  now: number;
  chosen: boolean;
  onChoose: (step: number) => void;
}

/** Scrolling draws new rows and leaves the others; only a running one is drawn anew as it grows. */
const Row = memo(function Row({ one, index, count, top, span, now, chosen, onChoose }: RowProps) {
  const { step, depth, began, waitedFrom } = one;
  const ended = one.ended ?? now;
  const took = began === null ? "" : isOver(step) ? duration(ended - began) : `${duration(Math.max(0, now - began))} so far`;
  const attempt = step.attempt > 1 ? `attempt ${step.attempt}` : "";
  const words = [step.step_name, step.step_type, step.status, attempt, took].filter(Boolean).join(", ");
  const waited = began !== null && waitedFrom !== null ? barOf(waitedFrom, began, span) : null;
  const bar = began === null ? null : barOf(began, ended, span);
  return (
    <div
      id={`step-${step.sequence_num}`}
      role="option"
      aria-selected={chosen}
      aria-posinset={index + 1}
      aria-setsize={count}
      className={`${styles["row"]} ${chosen ? styles["chosen"] : ""}`}
      style={{ top, height: ROW }}
      onClick={() => onChoose(step.sequence_num)}
    >
      <span className="visually-hidden">{words}</span>
      <div className={styles["name"]} aria-hidden="true">
        <span style={{ width: Math.min(depth, 12) * 12, flex: "none" }} />
        <span className={`${styles["state"]} ${styles[step.status] ?? ""}`}><Icon name={STATUS_ICON[step.status] ?? "dot"} size={13} /></span>
        <span className={styles["kind"]}><KindIcon kind={step.step_type} /></span>
        <span className={styles["word"]} title={step.reference}>{step.step_name}</span>
        {attempt && <span className={styles["attempt"]}>#{step.attempt}</span>}
      </div>
      <div className={styles["track"]} aria-hidden="true">
        {waited && <span className={styles["waited"]} style={waited} title="Waiting to try again" />}
        {bar && (
          <span className={`${styles["bar"]} ${styles[step.status] ?? ""} ${step.step_type === "wait" || step.step_type === "listen" ? styles["waiting"] : ""}`} style={bar} title={words} />
        )}
        {bar && <span className={`${styles["took"]} ${roomBeside(bar) ? "" : styles["inside"]}`} style={tookAt(bar)}>{step.status === "skipped" ? "skipped" : took}</span>}
      </div>
    </div>
  );
});

const ENOUGH = 12; // percent of the line that the words take at most

const roomBeside = (bar: { left: string; width: string }) => parseFloat(bar.left) + parseFloat(bar.width) < 100 - ENOUGH || parseFloat(bar.left) > ENOUGH;

/** Beside the bar, on whichever side there is room. */
function tookAt(bar: { left: string; width: string }): { left?: string; right?: string } {
  const [left, width] = [parseFloat(bar.left), parseFloat(bar.width)];
  return left + width < 100 - ENOUGH ? { left: `${left + width}%` } : left > ENOUGH ? { right: `${100 - left}%` } : { right: "0" };
}
