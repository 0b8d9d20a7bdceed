/** What was last sent to each workflow, and what was filled in and not sent when the session ended. */
import { kept } from "@/session/kept";
import { session } from "@/session/session";
import type { Json, Value } from "./form";

/** As long as this tab shows the console, and in memory only: an input may be private. */
const inputs = new Map<string, Json>();

session.onPersonChange(() => inputs.clear());

export const lastInput = (workflow: string): Json | undefined => inputs.get(workflow);
export const rememberInput = (workflow: string, input: Json) => void inputs.set(workflow, input);

/** Kept from the end of the session on, until its owner is back; beyond this page only if signing in leaves the site. */
export interface Unsent {
  value: Value;
  raw: boolean;
  text: string;
}

const placeOf = (workflow: string) => `input ${workflow}`;

export const unsentTo = (workflow: string) => kept.at(placeOf(workflow)) as Unsent | undefined;
export const keepUnsent = (workflow: string, what: Unsent) => kept.keep(placeOf(workflow), what);
export const forgetUnsent = (workflow: string) => kept.forget(placeOf(workflow));
