import { describe, expect, it } from "vitest";

import { safeNext, withNext } from "./next";

describe("where to go after signing in", () => {
  it.each(["/", "/workflows/1?tab=x#y", "/a//b"])("keeps a path of this site: %s", (path) => {
    expect(safeNext(path)).toBe(path);
  });
  it.each(["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "/\t/evil.example", "", null, "x"])(
    "goes home instead of anywhere else: %s",
    (path) => expect(safeNext(path)).toBe("/"),
  );
  it("is not mentioned when it is home", () => {
    expect(withNext("/sign-in", "/")).toBe("/sign-in");
    expect(withNext("/sign-in", "/a?b=c")).toBe("/sign-in?next=%2Fa%3Fb%3Dc");
  });
});
