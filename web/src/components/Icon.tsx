/** Our own few icons: lines on a 20 by 20 grid, in the colour of the text beside them, never read aloud. */
const SHAPES = {
  flow: "M4 4h5v4H4zM11 12h5v4h-5zM6.5 8v3.5a2.5 2.5 0 0 0 2.5 2.5h2",
  play: "M6.5 4.5v11l9-5.5z",
  stop: "M5.5 5.5h9v9h-9z",
  pause: "M7 5v10M13 5v10",
  check: "M4.5 10.5l3.6 3.6 7.4-8",
  cross: "M5.5 5.5l9 9M14.5 5.5l-9 9",
  clock: "M10 3.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM10 6.5v3.8l2.6 1.6",
  alert: "M10 3.5l7 12.5H3zM10 8.3v3.4M10 13.9v.1",
  skip: "M5 5l6 5-6 5zM14.5 5v10",
  dash: "M5 10h10",
  download: "M10 4v8.5M6.5 9.5L10 13l3.5-3.5M4.5 16h11",
  search: "M9 4a5 5 0 1 0 0 10a5 5 0 0 0 0-10zM12.7 12.7l3.8 3.8",
  menu: "M3.5 6h13M3.5 10h13M3.5 14h13",
  down: "M5.5 8l4.5 4.5L14.5 8",
  right: "M8 5.5l4.5 4.5L8 14.5",
  up: "M5.5 12L10 7.5l4.5 4.5",
  plus: "M10 4.5v11M4.5 10h11",
  copy: "M7 7h9v9H7zM4 13V4h9",
  home: "M3.5 9.5L10 4l6.5 5.5M5.5 8.5V16h9V8.5",
  people: "M7.5 9.5a2.6 2.6 0 1 0 0-5.2a2.6 2.6 0 0 0 0 5.2zM2.8 16c0-2.6 2.1-4.2 4.7-4.2s4.7 1.6 4.7 4.2M13 4.6a2.4 2.4 0 0 1 0 4.6M14.2 12.1c1.8.5 3 1.9 3 3.9",
  key: "M7 16.5a3.5 3.5 0 1 0 0-7a3.5 3.5 0 0 0 0 7zM9.5 10.5l6-6M12.8 7.2l2.4 2.4",
  shield: "M10 3.5l6 2v4.7c0 3.2-2.5 5.4-6 6.3c-3.5-.9-6-3.1-6-6.3V5.5z",
  list: "M4 5.5h.01M4 10h.01M4 14.5h.01M7.5 5.5H16M7.5 10H16M7.5 14.5H16",
  chart: "M4 16V9M8 16V4.5M12 16v-5M16 16V7",
  gear: "M10 7.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 0 0 0-5zM10 3v2M10 15v2M3 10h2M15 10h2M5 5l1.5 1.5M13.5 13.5L15 15M15 5l-1.5 1.5M6.5 13.5L5 15",
  folder: "M3.5 15V5.5H8l1.7 2h6.8V15z",
  building: "M5 16.5v-13h7v13M12 8h3.5v8.5M3.5 16.5h13M7.5 6.5h2M7.5 9.5h2M7.5 12.5h2",
  sun: "M10 6.8a3.2 3.2 0 1 0 0 6.4a3.2 3.2 0 0 0 0-6.4zM10 2.8v1.4M10 15.8v1.4M2.8 10h1.4M15.8 10h1.4M4.9 4.9l1 1M14.1 14.1l1 1M15.1 4.9l-1 1M5.9 14.1l-1 1",
  moon: "M15.8 11.9A6.3 6.3 0 0 1 8.1 4.2a6.3 6.3 0 1 0 7.7 7.7z",
  out: "M11.5 4.5H4.5v11h7M9 10h7.5M14 7.2l2.8 2.8-2.8 2.8",
  person: "M10 9.8a3 3 0 1 0 0-6a3 3 0 0 0 0 6zM4.5 16.5c0-3 2.4-4.8 5.5-4.8s5.5 1.8 5.5 4.8",
  sort: "M7 4.5v11M7 15.5l-2.5-2.5M13 15.5v-11M13 4.5l2.5 2.5",
  link: "M8.5 11.5l3-3M9.5 6.5l1.6-1.6a2.8 2.8 0 0 1 4 4L13.5 10.5M10.5 13.5l-1.6 1.6a2.8 2.8 0 0 1-4-4L6.5 9.5",
  refresh: "M15.5 8.5a5.8 5.8 0 1 0 .3 3M15.8 4.5v4h-4",
  edit: "M4.5 15.5l.7-3 8-8 2.3 2.3-8 8z",
  trash: "M4.5 6h11M8 6V4.2h4V6M6 6l.7 10h6.6L14 6",
  fit: "M4 7.5V4h3.5M12.5 4H16v3.5M16 12.5V16h-3.5M7.5 16H4v-3.5",
  dot: "M10 8.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 0 0 0-3z",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth={1.7}
      strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      <path d={SHAPES[name]} />
    </svg>
  );
}
