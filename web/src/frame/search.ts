/** What the search palette looks through. An area registers a source in its `routes.tsx`; the palette asks all of them. */
import type { IconName } from "@/components";

export interface Hit {
  key: string;
  title: string;
  about?: string;
  icon: IconName;
  to: string;
}

export interface SearchSource {
  id: string;
  /** The heading over its hits. */
  title: string;
  /** Below the others: pages are for those who have typed nothing that is a name. */
  last?: boolean;
  /** `place` is where one is. An empty query asks for what one would want most often. */
  find: (query: string, place: { company: string | null; project: string | null }, signal: AbortSignal) => Promise<Hit[]>;
}

const sources: SearchSource[] = [];

export function registerSearch(source: SearchSource): void {
  if (!sources.some((known) => known.id === source.id)) sources.push(source);
}

export function searchSources(): readonly SearchSource[] {
  return sources.toSorted((a, b) => Number(a.last ?? false) - Number(b.last ?? false));
}
