/** The numbers of a day, and schedules in words. */
import type { Schema } from "@/api/client";
import { duration } from "@/lib/times";

type Hour = Schema<"Hour">;

export interface Day {
  total: number;
  completed: number;
  failed: number;
}

export const countOf = (hours: Hour[], status: string) => hours.reduce((all, hour) => all + (hour.counts[status] ?? 0), 0);

export function dayOf(hours: Hour[]): Day {
  const total = hours.reduce((all, hour) => all + Object.values(hour.counts).reduce((a, b) => a + b, 0), 0);
  return { total, completed: countOf(hours, "completed"), failed: countOf(hours, "failed") };
}

/** Of those that ended by themselves. Never rounded up to a hundred when something failed. */
export function successRate({ completed, failed }: Day): number | null {
  if (completed + failed === 0) return null;
  const rate = (100 * completed) / (completed + failed);
  return failed > 0 ? Math.min(99.9, Math.round(rate * 10) / 10) : 100;
}

/** From the bottom up. */
export const STACK = ["completed", "failed", "cancelled", "running", "pending"] as const;

/** For each status, how high its part of the bar ends, by hour. */
export function stacked(hours: Hour[]): number[][] {
  const tops = hours.map(() => 0);
  return STACK.map((status) =>
    hours.map((hour, index) => {
      tops[index] = (tops[index] ?? 0) + (hour.counts[status] ?? 0);
      return tops[index] ?? 0;
    }));
}

/** The runs that come after the next one, or after now: they were told a while ago. */
export function runsAfter(runs: readonly string[], next: string | null | undefined, now: number = Date.now()): string[] {
  const from = next ? Date.parse(next) : now;
  return runs.filter((run) => Date.parse(run) > from);
}

export function scheduleWords(schedule: Schema<"Schedule">): string {
  const span = schedule.seconds === null ? "" : duration(schedule.seconds * 1000);
  switch (schedule.kind) {
    case "cron":
      return `By cron ${schedule.cron ?? ""} (${schedule.timezone})`;
    case "every":
      return `Every ${span}`;
    case "after":
      return `${span} after the last run ended`;
    case "on":
      return "When its events come";
  }
}
