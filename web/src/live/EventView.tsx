/** The lifecycle events of a workflow or of one execution, as they come. */
import { useCallback, useState } from "react";
import { Link, useSearchParams } from "react-router";

import { Badge, Button, EmptyState, ErrorState, JsonView, Select, SkeletonLines } from "@/components";
import { exact } from "@/lib/times";
import { Lines } from "./Lines";
import styles from "./Live.module.css";
import { Controls, Dropped, without } from "./LogView";
import { type EventEntry, useEvents } from "./useEntries";
import { clock, errorWords, EVENT_TYPES, eventTone, eventWords, inOneLine } from "./words";

interface EventViewProps {
  workflow: string;
  execution?: string;
  live: boolean;
  height?: string;
  /** The address of a step, by its reference. */
  stepLink?: (reference: string) => string;
}

export function EventView({ workflow, execution, live, height = "max(18rem, calc(100dvh - 21rem))", stepLink }: EventViewProps) {
  const [search, setSearch] = useSearchParams();
  const [opened, setOpened] = useState<number | null>(null);
  const type = search.get("type") ?? "";
  const events = useEvents(workflow, { execution_id: execution, type }, { live });
  const choose = (value: string) =>
    setSearch((was) => {
      const now = without(was, ["type"]);
      if (value) now.set("type", value);
      return now;
    }, { replace: true, preventScrollReset: true });
  const shown = opened === null ? undefined : events.entries.find((one) => one.id === opened);
  const line = useCallback((entry: EventEntry, chosen: boolean) => <EventLine entry={entry} chosen={chosen} onChoose={setOpened} stepLink={stepLink} />, [stepLink]);
  return (
    <section className={styles["view"]} aria-label="Events">
      <div className={styles["bar"]}>
        <Select label="Type of event" hideLabel value={type} onChange={(event) => choose(event.target.value)}>
          <option value="">All events</option>
          {EVENT_TYPES.filter((one) => !execution || !/deployed|stopped/.test(one)).map((one) => <option key={one} value={one}>{eventWords(one)}</option>)}
        </Select>
        <Controls {...events} live={live} />
      </div>
      {events.error ? <ErrorState error={events.error} onRetry={events.retry} />
        : events.pending ? <SkeletonLines lines={8} height="1.2rem" />
        : events.entries.length === 0 ? <div className="card"><EmptyState icon="list" title={type ? "No such event" : "No events yet"} actions={type ? <Button onClick={() => choose("")}>Show all events</Button> : undefined}>{type ? "Other types may have happened." : "Each start, end, failure and retry of an execution and its steps appears here."}</EmptyState></div>
        : (
          <Lines
            label="Event lines"
            entries={events.entries}
            height={height}
            wrap={false}
            older={events.older}
            loadOlder={events.loadOlder}
            chosen={opened}
            onChoose={setOpened}
            growing={live}
            dropped={events.dropped}
            note={events.dropped > 0 && <Dropped count={events.dropped} />}
            line={line}
          />
        )}
      {shown && <JsonView key={shown.id} label="event" value={shown} open={3} />}
    </section>
  );
}

function EventLine({ entry, chosen, onChoose, stepLink }: { entry: EventEntry; chosen: boolean; onChoose: (id: number | null) => void; stepLink: EventViewProps["stepLink"] }) {
  const data = (typeof entry.data === "object" && entry.data !== null ? entry.data : {}) as Record<string, unknown>;
  const task = typeof data["task"] === "string" ? data["task"] : "";
  const { workflow: _workflow, name: _name, task: _task, ...rest } = data;
  const told = Object.fromEntries(Object.entries(rest).filter(([name]) => name !== "error" && !name.endsWith("At")));
  const error = errorWords(rest["error"]);
  return (
    <>
      <button type="button" className={styles["time"]} title={`${exact(entry.created_at)}: show all of it`} aria-label={`Event of ${clock(entry.created_at)}`} aria-pressed={chosen} onClick={() => onChoose(chosen ? null : entry.id)}>
        {clock(entry.created_at)}
      </button>
      <span className={styles["kind"]}><Badge tone={eventTone(entry.type)}>{eventWords(entry.type)}</Badge></span>
      <span className={styles["message"]}>
        {task && stepLink ? <Link to={stepLink(task)}>{entry.step_name}</Link> : entry.step_name}{" "}
        <span className={styles["fields"]}>{task && task} {inOneLine(told)}</span> {error && <span className={styles["error"]}>{error}</span>}
      </span>
    </>
  );
}
