/** What somebody wrote and has not saved, kept while they sign in again: in memory only, and shown to nobody else. */
import { session } from "@/session/session";
import type { Tagged } from "../data";

export interface Draft {
  text: string;
  /** What it began from, so that saving it overwrites nobody. */
  base: Tagged;
}

const drafts = new Map<string, Draft>();
const keyOf = (workflow: string) => `${session.person} ${workflow}`;

export const draftOf = (workflow: string) => drafts.get(keyOf(workflow));

export function keepDraft(workflow: string, draft: Draft): void {
  drafts.set(keyOf(workflow), draft);
}

export function forgetDraft(workflow: string): void {
  drafts.delete(keyOf(workflow));
}
