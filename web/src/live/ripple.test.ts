import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Ripple } from "./ripple";

describe("news that comes in hundreds", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is read soon, then once a second, and the last of it is not forgotten", () => {
    const read = vi.fn();
    const ripple = new Ripple(read);
    ripple.tell();
    vi.advanceTimersByTime(150);
    expect(read).toHaveBeenCalledTimes(1);
    for (let n = 0; n < 25; n += 1) {
      ripple.tell();
      vi.advanceTimersByTime(100);
    }
    expect(read).toHaveBeenCalledTimes(3);
    vi.advanceTimersByTime(1_000);
    expect(read).toHaveBeenCalledTimes(4);
    vi.advanceTimersByTime(10_000);
    expect(read).toHaveBeenCalledTimes(4);
  });

  it("is not read any more when nobody looks", () => {
    const read = vi.fn();
    const ripple = new Ripple(read);
    ripple.tell();
    ripple.stop();
    vi.advanceTimersByTime(10_000);
    expect(read).not.toHaveBeenCalled();
  });
});
