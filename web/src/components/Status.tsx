import type { ReactNode } from "react";

import { Icon, type IconName } from "./Icon";
import styles from "./Status.module.css";

export type Tone = "ok" | "bad" | "warn" | "run" | "still";

/** The statuses of workflows, executions and steps, and the levels of logs: a colour, an icon and a word, always all three. */
const KNOWN: Record<string, { tone: Tone; icon: IconName; word: string; spin?: boolean }> = {
  draft: { tone: "still", icon: "edit", word: "Draft" },
  active: { tone: "ok", icon: "check", word: "Active" },
  stopped: { tone: "still", icon: "stop", word: "Stopped" },
  error: { tone: "bad", icon: "alert", word: "Error" },
  pending: { tone: "still", icon: "clock", word: "Pending" },
  running: { tone: "run", icon: "refresh", word: "Running", spin: true },
  paused: { tone: "warn", icon: "pause", word: "Paused" },
  completed: { tone: "ok", icon: "check", word: "Completed" },
  failed: { tone: "bad", icon: "cross", word: "Failed" },
  cancelled: { tone: "still", icon: "dash", word: "Cancelled" },
  skipped: { tone: "still", icon: "skip", word: "Skipped" },
  debug: { tone: "still", icon: "dot", word: "Debug" },
  info: { tone: "run", icon: "dot", word: "Info" },
  warn: { tone: "warn", icon: "alert", word: "Warn" },
  fatal: { tone: "bad", icon: "alert", word: "Fatal" },
};

export function toneOf(status: string): Tone {
  return KNOWN[status]?.tone ?? "still";
}

export function Status({ status }: { status: string }) {
  const known = KNOWN[status] ?? { tone: "still" as const, icon: "dot" as const, word: status };
  return (
    <span className={`${styles["badge"]} ${styles[known.tone]} ${known.spin ? styles["spin"] : ""}`}>
      <Icon name={known.icon} size={13} /> {known.word}
    </span>
  );
}

export function Badge({ tone = "still", icon, children }: { tone?: Tone; icon?: IconName; children: ReactNode }) {
  return (
    <span className={`${styles["badge"]} ${styles[tone]}`}>
      {icon && <Icon name={icon} size={13} />} {children}
    </span>
  );
}
