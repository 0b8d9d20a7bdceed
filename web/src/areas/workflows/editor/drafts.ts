/** What somebody wrote over a definition and has not saved. */
import { kept } from "@/session/kept";
import type { Tagged } from "../data";

export interface Draft {
  text: string;
  /** What it began from, so that saving it overwrites nobody. */
  base: Tagged;
}

const placeOf = (workflow: string) => `definition ${workflow}`;

export const draftOf = (workflow: string) => kept.at(placeOf(workflow)) as Draft | undefined;
export const keepDraft = (workflow: string, draft: Draft) => kept.keep(placeOf(workflow), draft);
export const forgetDraft = (workflow: string) => kept.forget(placeOf(workflow));
