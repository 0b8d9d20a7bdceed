import { describe, expect, it } from "vitest";

import { asProblem, problemFrom } from "./problem";

describe("what went wrong", () => {
  it("is what the server says, with the request's id and the fields", () => {
    const response = new Response("", { status: 400, headers: { "x-request-id": "abc", "retry-after": "7" } });
    const problem = problemFrom({ title: "The request is not valid", detail: "no", errors: [{ path: "/name", message: "blank" }] }, response);
    expect([problem.status, problem.detail, problem.requestId, problem.retryAfter]).toEqual([400, "no", "abc", 7]);
    expect(problem.field("name")).toBe("blank");
    expect(problem.field("slug")).toBeUndefined();
  });
  it("is understood when a proxy answers with a page", () => {
    expect(problemFrom(null, new Response("", { status: 502 })).title).toBe("The server answered 502");
  });
  it("says so when no server answered", () => {
    expect(asProblem(new TypeError("Failed to fetch")).title).toBe("The server cannot be reached");
    expect(asProblem(new Error("Unable to preload CSS for /assets/x.css")).title).toBe("The server cannot be reached");
  });
});
