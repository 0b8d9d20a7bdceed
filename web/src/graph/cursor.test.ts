import { expect, it } from "vitest";

import { Cursor } from "./cursor";

const TASKS = ["a", "b", "c", "d"];

it("goes on from where the keys have come to, however late the page shows it", () => {
  const cursor = new Cursor();
  expect([1, 1, 1].map(() => cursor.move(TASKS, 1))).toEqual(["a", "b", "c"]);
  cursor.shown("a");
  expect(cursor.move(TASKS, 1)).toBe("d");
  cursor.shown("d");
  expect(cursor.move(TASKS, -1)).toBe("c");
});

it("goes on from what was chosen otherwise", () => {
  const cursor = new Cursor();
  cursor.move(TASKS, 1);
  cursor.shown("c");
  expect(cursor.move(TASKS, 1)).toBe("d");
  cursor.shown(null);
  expect(cursor.move(TASKS, -1)).toBe("d");
});

it("stays at either end, and goes nowhere where nothing is", () => {
  const cursor = new Cursor();
  cursor.shown("d");
  expect(cursor.move(TASKS, 1)).toBe("d");
  cursor.shown("a");
  expect(cursor.move(TASKS, -1)).toBe("a");
  expect(cursor.move([], 1)).toBeUndefined();
});
