import type { CSSProperties } from "react";

import type { Schema } from "@/api/client";
import { toneOf } from "@/components";
import { duration } from "@/lib/times";
import styles from "./Workflows.module.css";

/** The last runs as small bars, the newest at the right: as high as they were long, and lined where they failed, so that colour is not all. */
export function RunBars({ runs, most = 12 }: { runs: Schema<"LastRun">[]; most?: number }) {
  if (runs.length === 0) return <span className="muted">Never ran</span>;
  const shown = runs.slice(0, most).reverse();
  const longest = Math.max(1, ...shown.map((run) => run.duration_ms ?? 0));
  const counts = new Map<string, number>();
  for (const run of shown) counts.set(run.status, (counts.get(run.status) ?? 0) + 1);
  const words = [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
  return (
    <span className={styles["bars"]} role="img" aria-label={`Last ${shown.length} runs: ${words}`}>
      {shown.map((run) => (
        <i key={run.id} className={styles[toneOf(run.status)]} data-status={run.status} title={`${run.status}${run.duration_ms === null ? "" : `, ${duration(run.duration_ms)}`}`}
          style={{ "--high": `${Math.round(30 + (70 * (run.duration_ms ?? longest)) / longest)}%` } as CSSProperties} />
      ))}
    </span>
  );
}
