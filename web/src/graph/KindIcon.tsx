/** An icon for each kind of task: lines on a 20 by 20 grid, like those of `@/components`. */
const SHAPES: Record<string, string> = {
  call: "M10 3.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM3.5 10h13M10 3.5c2 2 2.8 4.2 2.8 6.5s-.8 4.5-2.8 6.5c-2-2-2.8-4.2-2.8-6.5s.8-4.5 2.8-6.5z",
  set: "M5 7.5h10M5 12.5h10",
  run: "M3.5 5h13v10h-13zM6.5 8l2 2-2 2M10.5 12.2h3",
  emit: "M4 10h8.5M9.5 6.5L13 10l-3.5 3.5M16.5 4.5v11",
  listen: "M6 10a4 4 0 0 1 8 0v3l1.5 1.5h-11L6 13zM8.8 16.7h2.4M10 4.2V6",
  wait: "M10 3.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM10 6.5v3.8l2.6 1.6",
  switch: "M10 3.5l6.5 6.5-6.5 6.5L3.5 10z",
  if: "M10 3.5l6.5 6.5-6.5 6.5L3.5 10z",
  raise: "M10 3.5l7 12.5H3zM10 8.3v3.4M10 13.9v.1",
  catch: "M10 3.5l6 2v4.7c0 3.2-2.5 5.4-6 6.3c-3.5-.9-6-3.1-6-6.3V5.5zM7.5 10l1.8 1.8 3.2-3.6",
  for: "M15.5 8.5a5.8 5.8 0 1 0 .3 3M15.8 4.5v4h-4",
  loop: "M15.5 8.5a5.8 5.8 0 1 0 .3 3M15.8 4.5v4h-4",
  fork: "M10 4v3M10 7c0 3-5 2.5-5 6v3M10 7c0 3 5 2.5 5 6v3",
  try: "M10 3.5l6 2v4.7c0 3.2-2.5 5.4-6 6.3c-3.5-.9-6-3.1-6-6.3V5.5z",
  do: "M4 5.5h.01M4 10h.01M4 14.5h.01M7.5 5.5H16M7.5 10H16M7.5 14.5H16",
};

export function KindIcon({ kind, size = 16 }: { kind: string; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth={1.6}
      strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      <path d={SHAPES[kind] ?? "M4.5 4.5h11v11h-11z"} />
    </svg>
  );
}
