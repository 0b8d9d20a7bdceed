import { useEffect, useState } from "react";

import { Button, Icon } from "@/components";
import { duration } from "@/lib/times";
import type { ConnectionState } from "./connection";
import styles from "./Live.module.css";

interface Shown {
  state: ConnectionState;
  paused?: boolean;
  waiting?: number;
  more?: boolean;
  /** Nothing more can come. */
  complete?: boolean;
}

/** How a stream is, in one or two honest words. */
export function LiveBadge({ state, paused, waiting = 0, more, complete, onRetry }: Shown & { onRetry?: () => void }) {
  if (state.kind === "reconnecting") return <Away since={state.since} reason={state.reason} onRetry={onRetry} />;
  const [look, word] = wordFor({ state, paused, waiting, more, complete });
  return (
    <span className={`${styles["live"]} ${styles[look]}`} role="status" title={state.kind === "ended" ? state.reason : undefined}>
      <span className={styles["lamp"]} aria-hidden="true" /> {word}
    </span>
  );
}

function wordFor({ state, paused, waiting = 0, more, complete }: Shown): [string, string] {
  if (state.kind === "ended") return ["off", `Ended: ${state.reason}`];
  if (paused) return ["held", waiting ? `Paused, ${more ? "more than " : ""}${waiting.toLocaleString("en")} new` : "Paused"];
  if (state.kind === "live") return ["on", "Live"];
  if (state.kind === "connecting") return ["held", "Connecting…"];
  return ["off", complete ? "Complete" : "Resting"];
}

function Away({ since, reason, onRetry }: { since: number; reason: string; onRetry?: (() => void) | undefined }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="row">
      <span className={`${styles["live"]} ${styles["away"]}`} role="status" title={reason}>
        <Icon name="alert" size={13} /> Reconnecting…
        {/* Not read aloud each second. */}
        <span aria-hidden="true">{duration(Math.max(1000, now - since))}</span>
      </span>
      {onRetry && <Button size="small" kind="quiet" onClick={onRetry}>Try now</Button>}
    </span>
  );
}
