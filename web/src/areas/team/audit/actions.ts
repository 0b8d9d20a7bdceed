/** What an audit log's actions are called, and what its entries say, in words. */
import type { Schema } from "@/api/client";

export type Entry = Schema<"Entry">;

/** By the resource's word: what the server notes. An action that is not here is shown all the same. */
export const ACTIONS: Record<string, string[]> = {
  company: ["create", "update", "delete"],
  organization: ["create", "update", "delete"],
  project: ["create", "update", "delete"],
  member: ["add", "update", "remove"],
  workflow: ["create", "update", "delete", "deploy", "stop"],
  permission: ["add", "update", "remove"],
  link: ["create", "delete"],
  execution: ["trigger", "cancel", "pause", "resume", "rerun"],
  secret: ["create", "update", "delete"],
  event: ["receive"],
  iam_provider: ["create", "update", "delete", "test", "sign_in", "link", "unlink"],
  iam_mapping: ["create", "delete"],
  domain: ["grant", "revoke"],
  auth: ["login", "login_failed", "logout", "register", "resetpassword", "session_end", "refresh_reused"],
  user: ["update", "activate", "deactivate"],
  access: ["denied"],
};

const WHOLE: Record<string, string> = {
  "access.denied": "Was refused",
  "auth.login": "Signed in",
  "auth.login_failed": "Failed to sign in",
  "auth.logout": "Signed out",
  "auth.register": "Signed up",
  "auth.resetpassword": "Reset the password",
  "auth.session_end": "Ended a session",
  "auth.refresh_reused": "Used a refresh token twice: session ended",
  "user.update": "Changed the account",
  "user.activate": "Activated an account",
  "user.deactivate": "Deactivated an account",
  "event.receive": "Sent an event",
  "execution.rerun": "Ran an execution again",
  "iam_provider.sign_in": "Signed in through a provider",
  "iam_provider.link": "Linked a provider",
  "iam_provider.unlink": "Unlinked a provider",
  "domain.grant": "Granted an email domain",
  "domain.revoke": "Took back an email domain",
};
const VERBS: Record<string, string> = {
  create: "Created", update: "Changed", delete: "Deleted", add: "Added", remove: "Removed", deploy: "Deployed", stop: "Stopped",
  trigger: "Triggered", cancel: "Cancelled", pause: "Paused", resume: "Resumed", test: "Tested",
};
const THINGS: Record<string, string> = {
  company: "the company", organization: "an organization", project: "a project", member: "a member", workflow: "a workflow",
  permission: "a permission", link: "a link", execution: "an execution", secret: "a secret", iam_provider: "an identity provider",
  iam_mapping: "a role mapping",
};

export function inWords(action: string): string {
  const [thing = "", verb = ""] = action.split(".");
  const [did, what] = [VERBS[verb], THINGS[thing]];
  return WHOLE[action] ?? (did && what ? `${did} ${what}` : action);
}

export interface Change {
  member: string;
  before: unknown;
  after: unknown;
}

export interface Told {
  changes: Change[];
  facts: [string, unknown][];
}

/** The details of an entry: what changed from what to what, and what else is said. */
export function told(details: unknown): Told {
  const members = isObject(details) ? Object.entries(details) : [];
  const changes = members.flatMap(([member, value]) => (isChange(value) ? [{ member, before: value.before, after: value.after }] : []));
  return { changes, facts: members.filter(([, value]) => !isChange(value)) };
}

/** A few words for the line itself: whom it was about, a name, a role, why it was refused. */
export function gist(entry: Pick<Entry, "details" | "resource_type" | "resource_id">, names: Map<string, string>): string {
  const whom = ["member", "permission"].includes(entry.resource_type) ? names.get(entry.resource_id ?? "") : entry.resource_type === "secret" ? entry.resource_id : undefined;
  return [whom, gistOf(entry.details)].filter(Boolean).join(", ");
}

function gistOf(details: unknown): string {
  const { changes, facts } = told(details);
  const said = new Map(facts);
  for (const { member, after } of changes) said.set(member, after);
  const words = ["name", "email", "role", "detail", "message", "external_identifier", "link_type", "status", "reason"].map((member) => said.get(member));
  const first = words.filter((value): value is string => typeof value === "string" && value !== "");
  if (first.length) return first.slice(0, 2).join(", ");
  return changes.map((change) => change.member.replaceAll("_", " ")).join(", ");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isChange(value: unknown): value is { before: unknown; after: unknown } {
  return isObject(value) && "before" in value && "after" in value && Object.keys(value).length === 2;
}

/** A value as one reads it: text as it is, nothing as nothing, the rest as JSON. */
export function readable(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  return typeof value === "string" ? value : JSON.stringify(value, null, 1);
}
