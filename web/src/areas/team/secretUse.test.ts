import { expect, it } from "vitest";

import { mentionedIn } from "./secretUse";

const workflow = (config_yaml: string) => [{ id: "w", name: "W", config_yaml }];

it.each([
  ["use:\n  secrets:\n    - SMTP_PASSWORD\n", true],
  ["use: { secrets: [SMTP_PASSWORD, X] }", true],
  ["set: ${ $secrets.SMTP_PASSWORD }", true],
  ["set: ${ $secrets.SMTP_PASSWORD_2 }", false],
  ["use: { secrets: [OLD_SMTP_PASSWORD] }", false],
  ["set: ${ .input.SMTP_PASSWORD }", false],
])("finds a secret as a whole word: %s", (text, found) => {
  expect(mentionedIn("SMTP_PASSWORD", workflow(text))).toHaveLength(found ? 1 : 0);
});
it("takes dots in a name as dots", () => {
  expect(mentionedIn("a.b", workflow("use: {secrets: [axb]}"))).toEqual([]);
  expect(mentionedIn("a.b", workflow("use: {secrets: [a.b]}"))).toHaveLength(1);
});
