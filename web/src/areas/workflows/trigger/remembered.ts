/** What was last sent to each workflow, as long as this tab shows the console. Kept in memory only: an input may be private. */
import { session } from "@/session/session";
import type { Json } from "./form";

const inputs = new Map<string, Json>();

session.onPersonChange(() => inputs.clear());

export const lastInput = (workflow: string): Json | undefined => inputs.get(workflow);
export const rememberInput = (workflow: string, input: Json) => void inputs.set(workflow, input);
