/** Spans of time that lists can be narrowed to. */
export const SPANS: Record<string, { label: string; minutes: number }> = {
  "1h": { label: "Last hour", minutes: 60 },
  "24h": { label: "Last 24 hours", minutes: 1_440 },
  "7d": { label: "Last 7 days", minutes: 10_080 },
  "30d": { label: "Last 30 days", minutes: 43_200 },
};

export function sinceOf(span: string, now: number = Date.now()): string | undefined {
  const known = SPANS[span];
  return known && new Date(now - known.minutes * 60_000).toISOString();
}
