import { useEffect, useState } from "react";

import { duration } from "@/lib/times";

/** How long something took, or takes until now: counted while one looks. */
export function RunningTime({ from, to }: { from: string | null; to: string | null }) {
  const running = from !== null && to === null;
  const now = useNow(running, 200);
  if (from === null) return <>–</>;
  return <span className="tabular">{duration(Math.max(0, (to === null ? now : Date.parse(to)) - Date.parse(from)))}</span>;
}

/** The time, told anew every so often while it matters. */
export function useNow(ticking: boolean, every: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [ticking, every]);
  return now;
}
