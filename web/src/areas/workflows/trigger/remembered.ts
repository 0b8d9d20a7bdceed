/** What was last sent to each workflow, as long as this tab shows the console. Kept in memory only: an input may be private. */
import { kept } from "@/session/kept";
import { session } from "@/session/session";
import type { Json, Value } from "./form";

const inputs = new Map<string, Json>();

session.onPersonChange(() => inputs.clear());

export const lastInput = (workflow: string): Json | undefined => inputs.get(workflow);
export const rememberInput = (workflow: string, input: Json) => void inputs.set(workflow, input);

/** What was filled in and not sent when the session ended. Kept from then on, until its owner is back. */
export interface Unsent {
  value: Value;
  raw: boolean;
  text: string;
}

const placeOf = (workflow: string) => `input ${workflow}`;

export const unsentTo = (workflow: string) => kept.at(placeOf(workflow)) as Unsent | undefined;
export const keepUnsent = (workflow: string, what: Unsent) => kept.keep(placeOf(workflow), what);
export const forgetUnsent = (workflow: string) => kept.forget(placeOf(workflow));
