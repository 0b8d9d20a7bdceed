/** Many lines of which only those in sight are drawn; stays at the end while more come, unless one scrolls away from it. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

import { Button } from "@/components";
import type { Entry } from "./connection";
import styles from "./Live.module.css";

interface LinesProps<T> {
  label: string;
  entries: readonly T[];
  line: (entry: T, chosen: boolean) => ReactNode;
  height: string;
  wrap: boolean;
  older: boolean;
  loadOlder: () => Promise<number>;
  chosen: number | null;
  onChoose: (id: number | null) => void;
  /** Above the first line: that older ones were let go. */
  note?: ReactNode;
}

const LINE = 26; // pixels of a line that is not wrapped
const NEAR = 60; // pixels from an end that count as being there

export function Lines<T extends Entry>({ label, entries, line, height, wrap, older, loadOlder, chosen, onChoose, note }: LinesProps<T>) {
  const scroll = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(chosen === null);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => LINE,
    getItemKey: (index) => entries[index]?.id ?? index,
    overscan: 20,
  });
  useEffect(() => virtual.measure(), [wrap, virtual]);

  const count = entries.length;
  const newest = entries[count - 1]?.id;
  useLayoutEffect(() => {
    if (following && count) virtual.scrollToIndex(count - 1, { align: "end" });
  }, [following, newest, count, wrap, virtual]);

  // What is put in front must not move what one reads.
  const first = useRef(entries[0]?.id);
  useLayoutEffect(() => {
    const before = first.current;
    first.current = entries[0]?.id;
    if (following || before === undefined || first.current === undefined || first.current >= before || !scroll.current) return;
    const added = entries.findIndex((one) => one.id >= before);
    if (added > 0) scroll.current.scrollTop += added * LINE;
  }, [entries, following]);

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
      <div ref={scroll} className={styles["lines"]} style={{ height }} role="region" aria-label={label} tabIndex={0} onScroll={scrolled} onKeyDown={move}>
        {note}
        {older && <Button size="small" kind="quiet" className={styles["older"]} onClick={() => void loadOlder()}>Load older lines</Button>}
        <div role="list" aria-label={label} className={wrap ? "" : styles["straight"]} style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const entry = entries[item.index];
            if (!entry) return null;
            const isChosen = entry.id === chosen;
            return (
              <div
                key={item.key}
                ref={wrap ? virtual.measureElement : null}
                data-index={item.index}
                role="listitem"
                aria-posinset={item.index + 1}
                aria-setsize={count}
                aria-current={isChosen || undefined}
                className={`${styles["line"]} ${isChosen ? styles["chosen"] : ""}`}
                style={{ transform: `translateY(${item.start}px)`, ...(wrap ? {} : { height: LINE }) }}
              >
                {line(entry, isChosen)}
              </div>
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
