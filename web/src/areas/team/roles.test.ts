import { describe, expect, it } from "vitest";

import { type Access, allowed, grantable, lastOwner, withArticle } from "./roles";

const here = "p1";
const person = (id: string, role: string, through: Partial<Access["through"][number]>[] = [{ id: here, role }]): Access => ({
  user: { id, email: `${id}@example.com`, display_name: "" },
  role,
  through: through.map((grant) => ({ level: "project", id: here, name: "Orders", role, provider: null, ...grant })),
});

describe("what one may do about somebody's role", () => {
  const admin = { id: "me", role: "admin" };

  it("an admin changes and removes those at or below their own role", () => {
    expect(allowed(person("ann", "admin"), admin, here, false)).toEqual({ change: true, remove: true, why: "" });
  });
  it("nobody touches someone above, and is told why", () => {
    expect(allowed(person("ann", "owner"), admin, here, false)).toMatchObject({ change: false, remove: false, why: expect.stringContaining("above yours") });
  });
  it("what comes from above can be overridden here, and is not removed here", () => {
    const inherited = person("ann", "viewer", [{ id: "c1", level: "company" }]);
    expect(allowed(inherited, admin, here, false)).toMatchObject({ change: true, remove: false });
  });
  it("what a mapping gave is not removed here", () => {
    expect(allowed(person("ann", "viewer", [{ provider: "Okta" }]), admin, here, false)).toMatchObject({ remove: false });
  });
  it("a viewer may leave and do nothing else", () => {
    const viewer = { id: "me", role: "viewer" };
    expect(allowed(person("me", "viewer"), viewer, here, false)).toMatchObject({ change: false, remove: true });
    expect(allowed(person("ann", "viewer"), viewer, here, false)).toMatchObject({ change: false, remove: false });
  });
  it("the last owner stays", () => {
    const me = { id: "me", role: "owner" };
    expect(allowed(person("me", "owner"), me, here, true)).toMatchObject({ change: false, remove: false });
  });
});

describe("roles", () => {
  it("nobody gives a role above their own", () => {
    expect(grantable("admin")).toEqual(["viewer", "editor", "admin"]);
    expect(grantable(undefined)).toEqual([]);
  });
  it("an owner by a mapping does not keep a company going", () => {
    expect(lastOwner([person("a", "owner"), person("b", "owner", [{ provider: "Okta" }])], here)).toBe("a");
    expect(lastOwner([person("a", "owner"), person("b", "owner")], here)).toBeUndefined();
  });
  it("have their article", () => {
    expect(["viewer", "editor", "admin", "owner"].map(withArticle)).toEqual(["a viewer", "an editor", "an admin", "an owner"]);
  });
});
