/** The logs of a workflow or of one execution: as they come, filtered, each line with an address. */
import { useCallback, useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";

import { Button, CopyButton, EmptyState, ErrorState, IconButton, Select, SkeletonLines } from "@/components";
import { exact } from "@/lib/times";
import { Lines } from "./Lines";
import styles from "./Live.module.css";
import { LiveBadge } from "./LiveBadge";
import { Sought } from "./Sought";
import { type Entries, type LogEntry, useLogs } from "./useEntries";
import { inOneLine, clock } from "./words";

interface LogViewProps {
  workflow: string;
  execution?: string;
  /** Whether more may come: false for an execution that has ended. */
  live: boolean;
  height?: string;
}

const LEVELS = [
  ["", "All levels"],
  ["info", "Info and above"],
  ["warn", "Warnings and above"],
  ["error", "Errors only"],
] as const;

export function LogView({ workflow, execution, live, height = "max(18rem, calc(100dvh - 21rem))" }: LogViewProps) {
  const [search, setSearch] = useSearchParams();
  const [wrap, setWrap] = useState(() => matchMedia("(max-width: 40rem)").matches);
  const level = search.get("level") ?? "";
  const module = search.get("module") ?? "";
  const q = search.get("q") ?? "";
  const chosen = Number(search.get("line")) || null;
  const put = (name: string, value: string | null) =>
    setSearch((was) => {
      const now = new URLSearchParams(was);
      if (value) now.set(name, value);
      else now.delete(name);
      if (name !== "line") now.delete("line");
      return now;
    }, { replace: true, preventScrollReset: true });
  const logs = useLogs(workflow, { execution_id: execution, level, module, q }, { live });
  const modules = useModules(logs.entries, module);
  const filtered = Boolean(level || module || q);
  const choose = useStable((id: number | null) => put("line", id === null ? null : String(id)));
  const line = useCallback((entry: LogEntry, isChosen: boolean, near: boolean) => <LogLine entry={entry} chosen={isChosen} near={near} onChoose={choose} />, [choose]);
  return (
    <section className={styles["view"]} aria-label="Logs">
      <div className={styles["bar"]}>
        <Sought value={q} label="Search in messages" onSeek={(value) => put("q", value)} />
        <Select label="Level" hideLabel value={level} onChange={(event) => put("level", event.target.value)}>
          {LEVELS.map(([value, word]) => <option key={value} value={value}>{word}</option>)}
        </Select>
        <Select label="Module" hideLabel value={module} onChange={(event) => put("module", event.target.value)}>
          <option value="">All modules</option>
          {modules.map((name) => <option key={name}>{name}</option>)}
        </Select>
        <IconButton label={wrap ? "Do not wrap lines" : "Wrap lines"} icon="list" aria-pressed={wrap} onClick={() => setWrap(!wrap)} />
        <Controls {...logs} live={live} />
      </div>
      {logs.error ? <ErrorState error={logs.error} onRetry={logs.retry} />
        : logs.pending ? <SkeletonLines lines={8} height="1.2rem" />
        : logs.entries.length === 0 ? <div className="card"><Nothing live={live} filtered={filtered} onClear={() => setSearch((was) => without(was, ["level", "module", "q", "line"]), { replace: true })} /></div>
        : (
          <Lines
            label="Log lines"
            entries={logs.entries}
            height={height}
            wrap={wrap}
            older={logs.older}
            loadOlder={logs.loadOlder}
            chosen={chosen}
            onChoose={choose}
            growing={live}
            dropped={logs.dropped}
            note={logs.dropped > 0 && <Dropped count={logs.dropped} />}
            line={line}
          />
        )}
    </section>
  );
}

function LogLine({ entry, chosen, near, onChoose }: { entry: LogEntry; chosen: boolean; near: boolean; onChoose: (id: number | null) => void }) {
  const fields = inOneLine(entry.fields);
  return (
    <>
      <button type="button" className={styles["time"]} title={`${exact(entry.created_at)}: link to this line`} aria-label={`Line of ${clock(entry.created_at)}`} aria-pressed={chosen} onClick={() => onChoose(chosen ? null : entry.id)}>
        {clock(entry.created_at)}
      </button>
      <span className={`${styles["level"]} ${styles[entry.level]}`}>{entry.level}</span>
      <span className={styles["module"]}>{entry.module_name}</span>
      <span className={styles["message"]}>{entry.message} {fields && <span className={styles["fields"]}>{fields}</span>}</span>
      {near && <span className={styles["tools"]}><CopyButton label="Copy line" text={`${entry.created_at} ${entry.level} ${entry.module_name} ${entry.message} ${fields}`.trim()} /></span>}
    </>
  );
}

/** A function that stays the same, and does what the newest one given would. */
export function useStable<A extends unknown[]>(newest: (...given: A) => void): (...given: A) => void {
  const held = useRef(newest);
  held.current = newest;
  return useCallback((...given: A) => held.current(...given), []);
}

/** Pause and go on, and how the stream is. */
export function Controls<T>({ live, paused, pause, resume, state, waiting, more, hurry }: Entries<T> & { live: boolean }) {
  return (
    <div className={styles["controls"]}>
      <LiveBadge {...{ state, paused, waiting, more }} complete={!live} onRetry={hurry} />
      {(live || paused) && <Button size="small" icon={paused ? "play" : "pause"} onClick={paused ? resume : pause}>{paused ? "Go on" : "Pause"}</Button>}
    </div>
  );
}

export function Dropped({ count }: { count: number }) {
  return <p className={styles["note"]}>{count.toLocaleString("en")} older lines are not kept here, so that the page stays fast. Narrow the filter to see them.</p>;
}

export function without(params: URLSearchParams, names: string[]): URLSearchParams {
  const now = new URLSearchParams(params);
  for (const name of names) now.delete(name);
  return now;
}

function Nothing({ live, filtered, onClear }: { live: boolean; filtered: boolean; onClear: () => void }) {
  if (filtered) return <EmptyState icon="search" title="No line matches" actions={<Button onClick={onClear}>Clear the filter</Button>}>Other lines may be hidden by level, module or words.</EmptyState>;
  return <EmptyState icon="list" title="No log lines yet">{live ? "They appear here as they are written: what the engine does, and what scripts print." : "Nothing was logged. Logs are kept as long as their execution."}</EmptyState>;
}

/** The modules that were ever seen here, so that the list does not shrink when one is chosen. */
function useModules(entries: readonly LogEntry[], chosen: string): string[] {
  const [seen, setSeen] = useState<string[]>(chosen ? [chosen] : ["engine"]);
  const last = useRef(0);
  useEffect(() => {
    const fresh = entries.slice(entries.findLastIndex((entry) => entry.id <= last.current) + 1);
    last.current = entries.at(-1)?.id ?? 0;
    setSeen((was) => {
      const all = new Set(was);
      for (const entry of fresh) all.add(entry.module_name);
      return all.size === was.length ? was : [...all].sort();
    });
  }, [entries]);
  return seen;
}
