/** The period of a log in the address: `period=24h`, or `from` and `to` as the browser's date fields write them. */
export const PERIODS: Record<string, { label: string; hours: number }> = {
  "1h": { label: "Last hour", hours: 1 },
  "24h": { label: "Last 24 hours", hours: 24 },
  "7d": { label: "Last 7 days", hours: 168 },
  "30d": { label: "Last 30 days", hours: 720 },
};

export interface Bounds {
  since?: string;
  until?: string;
}

export function boundsOf(search: URLSearchParams, now: number): Bounds {
  const period = search.get("period") ?? "";
  const known = PERIODS[period];
  if (known) return { since: new Date(now - known.hours * 3_600_000).toISOString() };
  if (period !== "custom") return {};
  const [since, until] = [moment(search.get("from")), moment(search.get("to"))];
  return { ...(since ? { since } : {}), ...(until ? { until } : {}) };
}

/** Local time, as the field shows it, to the moment that it means. */
function moment(given: string | null): string | undefined {
  const at = given ? new Date(given) : undefined;
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}
