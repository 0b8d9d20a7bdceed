import { useEffect, useState } from "react";

import { duration, exact, relative } from "@/lib/times";

/** "5 minutes ago", with the exact moment on hover; stays true while one looks at it. */
export function Time({ at, style = "relative" }: { at: string | null | undefined; style?: "relative" | "exact" }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (style === "exact") return;
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, [style]);
  if (!at) return <span className="muted">–</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {style === "exact" ? exact(at) : relative(at, now)}
    </time>
  );
}

/** "1.2 s", "3 min 20 s". */
export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span className="muted">–</span>;
  return <span title={`${ms} ms`}>{duration(ms)}</span>;
}
