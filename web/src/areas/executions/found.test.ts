import { expect, it } from "vitest";

import { found } from "./found";

it("says how many there are, and when the server has stopped counting", () => {
  expect(found(1, 50)).toBe("1 execution");
  expect(found(4_999, 50)).toBe("4,999 executions");
  expect(found(5_000, 50)).toBe("5,000 executions or more");
  expect(found(5_050, 5_050)).toBe("5,050 executions or more");
  expect(found(123_456, 50)).toBe("123,456 executions");
});
