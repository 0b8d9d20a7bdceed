/** Roles, rising, and what follows from one's own: whom one may give which, and whom one may not touch. */
import type { Schema } from "@/api/client";

export const ROLES = ["viewer", "editor", "admin", "owner"] as const;
export type Role = (typeof ROLES)[number];
export type Access = Schema<"PersonAccess">;
export type Grant = Schema<"Through">;

export const MAY: Record<Role, string> = {
  viewer: "Sees workflows, runs and logs. Changes nothing.",
  editor: "Also writes and triggers workflows, and sets secrets.",
  admin: "Also deploys, and decides who else may do what.",
  owner: "Everything, deleting included.",
};

const rank = (role: string) => ROLES.indexOf(role as Role);

export function atLeast(own: string | undefined, needed: Role): boolean {
  return own !== undefined && rank(own) >= rank(needed);
}

/** Nobody gives a role above their own. */
export function grantable(own: string | undefined): Role[] {
  return own === undefined ? [] : ROLES.filter((role) => rank(role) <= rank(own));
}

/** "an admin", "a viewer". */
export function withArticle(role: string): string {
  return `${/^[aeo]/.test(role) ? "an" : "a"} ${role}`;
}

/** What was given to somebody at this very place, by a person and not by a mapping: only that can be changed here. */
export function givenHere(person: Access, place: string): Grant | undefined {
  return person.through.find((grant) => grant.id === place && grant.provider === null);
}

export interface Allowed {
  change: boolean;
  remove: boolean;
  /** Why not, where that is not plain from one's own role. */
  why: string;
}

/** What I may do about somebody's role at a place. The server decides; this is so that nothing is offered in vain. */
export function allowed(person: Access, me: { id: string; role: string }, place: string, lastOwner: boolean): Allowed {
  const myself = person.user.id === me.id;
  const direct = givenHere(person, place) !== undefined;
  if (!myself && !atLeast(me.role, "admin")) return { change: false, remove: false, why: "" };
  if (!myself && rank(person.role) > rank(me.role)) {
    return { change: false, remove: false, why: `Their role is above yours: you are ${withArticle(me.role)}.` };
  }
  if (lastOwner) return { change: false, remove: false, why: "The last owner. Make someone else an owner first." };
  return { change: atLeast(me.role, "admin"), remove: direct, why: "" };
}

/** The one without whom nobody could run a company: it has exactly one owner that a mapping cannot take away. */
export function lastOwner(people: Access[], place: string): string | undefined {
  const owners = people.filter((person) => person.through.some((grant) => grant.id === place && grant.provider === null && grant.role === "owner"));
  return owners.length === 1 ? owners[0]?.user.id : undefined;
}
