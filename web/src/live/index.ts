/** Everything that moves by itself: streams, logs, events. */
export type { ConnectionState, Entry } from "./connection";
export { followed } from "./followed";
export { EventView } from "./EventView";
export { LiveBadge } from "./LiveBadge";
export { LogView } from "./LogView";
export { type Entries, type EventEntry, type LogEntry, useEvents, useLogs } from "./useEntries";
export { allNews, type Following, projectNews, useFollow, workflowNews } from "./useFollow";
export { type Hearing, useHearing } from "./useHearing";
export { withFilter } from "./useStream";
