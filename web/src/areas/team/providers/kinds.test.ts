import { describe, expect, it } from "vitest";

import { configFrom, KINDS, MASK, shownOf } from "./kinds";

const oidc = KINDS["oidc"]!;
const from = (values: Record<string, string>, stored = {}) => configFrom(oidc, (name) => values[name] ?? "", stored);

describe("a provider's form", () => {
  it("leaves out what was left empty", () => {
    expect(from({ issuer: " https://idp.example ", client_id: "x", discovery_url: " " })).toEqual({ issuer: "https://idp.example", client_id: "x", trust_email: false });
  });
  it("keeps a stored secret that was left empty, and sends another one that was typed", () => {
    expect(from({ client_secret: "" }, { client_secret: MASK })).toMatchObject({ client_secret: MASK });
    expect(from({ client_secret: "new" }, { client_secret: MASK })).toMatchObject({ client_secret: "new" });
    expect(from({ client_secret: "" })).not.toHaveProperty("client_secret");
  });
  it("takes lists a line at a time", () => {
    expect(from({ scopes: "openid\n\n email " })).toMatchObject({ scopes: ["openid", "email"] });
    expect(shownOf({ name: "scopes", label: "", kind: "lines" }, ["openid", "email"])).toBe("openid\nemail");
  });
  it("never shows a secret", () => {
    expect(shownOf({ name: "client_secret", label: "", kind: "secret" }, MASK)).toBe("");
  });
});
