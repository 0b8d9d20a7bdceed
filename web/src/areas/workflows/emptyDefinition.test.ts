import { expect, it } from "vitest";
import { parse } from "yaml";

import { emptyDefinition } from "./emptyDefinition";

it("makes a name of the DSL's of any name", () => {
  const named = (name: string) => (parse(emptyDefinition(name)) as { document: { name: string } }).document.name;
  expect(named("  Café: Orders & Co. ")).toBe("cafe-orders-co");
  expect(named("訂單")).toBe("my-workflow");
  expect(named("a".repeat(200))).toHaveLength(60);
});
