/** Many lines of which only those in sight are drawn; stays at the end while more come, unless one scrolls away from it. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, type ReactNode, type Ref, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

import { Button } from "@/components";
import type { Entry } from "./connection";
import { followed } from "./followed";
import styles from "./Live.module.css";

interface LinesProps<T> {
  label: string;
  entries: readonly T[];
  /** What stands in a line; `near` when it is pointed at or has the focus. The same function each time, so that a line is drawn once. */
  line: (entry: T, chosen: boolean, near: boolean) => ReactNode;
  height: string;
  wrap: boolean;
  /** More will come at the end. */
  growing: boolean;
  older: boolean;
  loadOlder: () => Promise<number>;
  chosen: number | null;
  onChoose: (id: number | null) => void;
  /** How many older ones were let go. */
  dropped: number;
  /** Above the first line: that they were. */
  note?: ReactNode;
}

const LINE = 26; // pixels of a line that is not wrapped
const NEAR = 60; // pixels from an end that count as being there

export function Lines<T extends Entry>({ label, entries, line, height, wrap, growing, older, loadOlder, chosen, onChoose, dropped, note }: LinesProps<T>) {
  const scroll = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(chosen === null);
  const [near, setNear] = useState<number | null>(null);
  const count = entries.length;
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => LINE,
    getItemKey: useCallback((index: number) => entries[index]?.id ?? index, [entries]),
    overscan: 12,
    ...followed(following),
  });
  useEffect(() => virtual.measure(), [wrap, virtual]);

  const size = virtual.getTotalSize();
  useLayoutEffect(() => {
    if (following && scroll.current) scroll.current.scrollTop = scroll.current.scrollHeight;
  }, [following, size]);

  // What is put in front, or let go there, must not move what one reads.
  const start = useRef({ first: entries[0]?.id, dropped });
  useLayoutEffect(() => {
    const before = start.current;
    start.current = { first: entries[0]?.id, dropped };
    if (following || before.first === undefined || !scroll.current) return;
    const gone = dropped - before.dropped;
    const added = gone > 0 ? -gone : entries.findIndex((one) => one.id >= (before.first ?? 0));
    if (added !== 0) scroll.current.scrollTop += added * LINE;
  }, [entries, dropped, following]);

  const sought = useRef(chosen);
  useEffect(() => {
    if (sought.current === null) return;
    const at = entries.findIndex((one) => one.id === sought.current);
    if (at >= 0) {
      virtual.scrollToIndex(at, { align: "center" });
      sought.current = null;
    } else if (older && (entries[0]?.id ?? 0) > sought.current) void loadOlder().catch(() => undefined);
  }, [entries, older, loadOlder, virtual]);

  const top = useRef(0);
  const scrolled = useCallback(() => {
    const element = scroll.current;
    if (!element) return;
    // Only who scrolls up leaves the end: in a burst, more lines come than the last scroll went down.
    if (element.scrollHeight - element.scrollTop - element.clientHeight < NEAR) setFollowing(true);
    else if (element.scrollTop < top.current) setFollowing(false);
    top.current = element.scrollTop;
    if (element.scrollTop < NEAR * 10 && older) void loadOlder().catch(() => undefined);
  }, [older, loadOlder]);

  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Escape" && chosen !== null) onChoose(null);
    else if (event.key === "End") setFollowing(true);
    else if (step && chosen !== null) {
      const next = entries[entries.findIndex((one) => one.id === chosen) + step];
      if (!next) return;
      event.preventDefault();
      onChoose(next.id);
      virtual.scrollToIndex(entries.indexOf(next));
    }
  };

  return (
    <div className={styles["holder"]}>
      <div ref={scroll} className={`box ${styles["lines"]}`} style={{ height }} role="region" aria-label={label} tabIndex={0} onScroll={scrolled} onKeyDown={move}>
        {note}
        {older && <Button size="small" kind="quiet" className={styles["older"]} onClick={() => void loadOlder()}>Load older lines</Button>}
        <div role="list" aria-label={label} className={wrap ? "" : styles["straight"]} style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const entry = entries[item.index];
            return entry && (
              <Row
                key={item.key}
                entry={entry}
                line={line as (entry: Entry, chosen: boolean, near: boolean) => ReactNode}
                index={item.index}
                count={growing || older ? -1 : count}
                top={item.start}
                measure={wrap ? virtual.measureElement : null}
                chosen={entry.id === chosen}
                near={entry.id === near}
                onNear={setNear}
              />
            );
          })}
        </div>
      </div>
      {!following && count > 0 && (
        <div className={styles["jump"]}>
          <Button size="small" icon="down" onClick={() => setFollowing(true)}>Newest</Button>
        </div>
      )}
    </div>
  );
}

interface RowProps {
  entry: Entry;
  line: (entry: Entry, chosen: boolean, near: boolean) => ReactNode;
  index: number;
  /** -1 when nobody knows how many there will be. */
  count: number;
  top: number;
  measure: Ref<HTMLDivElement> | null;
  chosen: boolean;
  near: boolean;
  onNear: (id: number) => void;
}

/** Drawn once: scrolling, and lines that come, leave it as it is. */
const Row = memo(function Row({ entry, line, index, count, top, measure, chosen, near, onNear }: RowProps) {
  const come = () => onNear(entry.id);
  return (
    <div
      ref={measure}
      data-index={index}
      role="listitem"
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-current={chosen || undefined}
      className={`${styles["line"]} ${chosen ? styles["chosen"] : ""}`}
      style={{ transform: `translateY(${top}px)`, ...(measure ? {} : { height: LINE }) }}
      onPointerEnter={come}
      onFocus={come}
    >
      {line(entry, chosen, near)}
    </div>
  );
});
