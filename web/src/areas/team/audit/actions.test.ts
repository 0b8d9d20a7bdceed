import { expect, it } from "vitest";

import { ACTIONS, gist, inWords, told } from "./actions";

it("says in words what the server notes", () => {
  const all = Object.entries(ACTIONS).flatMap(([thing, verbs]) => verbs.map((verb) => `${thing}.${verb}`));
  expect(all.filter((action) => inWords(action) === action)).toEqual([]);
  expect(inWords("member.add")).toBe("Added a member");
});
it("shows an action of tomorrow as it is", () => {
  expect(inWords("comet.observe")).toBe("comet.observe");
});
it("tells what changed from what to what from what is only said", () => {
  const { changes, facts } = told({ role: { before: "viewer", after: "admin" }, company: "c1" });
  expect(changes).toEqual([{ member: "role", before: "viewer", after: "admin" }]);
  expect(facts).toEqual([["company", "c1"]]);
});
it("finds the few words that matter", () => {
  const of = (details: unknown, resource_type = "project", resource_id = "u1") => gist({ details, resource_type, resource_id }, new Map([["u1", "Ann"]]));
  expect(of({ name: { before: null, after: "Orders" }, slug: { before: null, after: "orders" } })).toBe("Orders");
  expect(of({ role: "editor", project: "p1" }, "member")).toBe("Ann, editor");
  expect(of({ role: "editor" }, "member", "u2")).toBe("editor");
  expect(of({ project_id: "p1" }, "secret", "SMTP_PASSWORD")).toBe("SMTP_PASSWORD");
  expect(of({ config_yaml: { before: "a", after: "b" } })).toBe("config yaml");
  expect(of({})).toBe("");
  expect(of(null)).toBe("");
});
