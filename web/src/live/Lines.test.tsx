// @vitest-environment jsdom
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";

import { Lines } from "./Lines";

const LINE = 26;
const HEIGHT = 400;
const words = (one: { id: number }) => `line ${one.id}`;

/** Lines in a window of a known height: jsdom lays nothing out. */
function shown() {
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(HEIGHT);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(HEIGHT);
  let count = 0;
  vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockImplementation(() => count * LINE);
  HTMLElement.prototype.scrollTo = function (to?: ScrollToOptions | number) {
    if (typeof to === "object") this.scrollTop = to.top ?? 0;
  };
  const entries = (many: number) => Array.from({ length: many }, (_, index) => ({ id: index + 1 }));
  const of = (many: number) => (
    <Lines label="Log lines" entries={entries(many)} line={words} height="400px" wrap={false} growing older={false} loadOlder={async () => 0} dropped={0} chosen={null} onChoose={() => undefined} />
  );
  const view = render(<div />);
  const region = () => screen.getByRole("region", { name: "Log lines" });
  return {
    region,
    come: (many: number) => {
      count = many;
      view.rerender(of(many));
    },
    scrolledTo: (top: number) => act(() => {
      region().scrollTop = top;
      fireEvent.scroll(region());
    }),
    follows: () => screen.queryByRole("button", { name: "Newest" }) === null,
  };
}

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

describe("lines that come", () => {
  it("are followed through a burst that overtakes the scrolling, as after a stream was away", () => {
    const { come, scrolledTo, follows } = shown();
    come(100);
    scrolledTo(100 * LINE - HEIGHT);
    // The last scroll's event arrives when a thousand more are there already.
    come(1100);
    scrolledTo(100 * LINE - HEIGHT + 5);
    expect(follows()).toBe(true);
  });

  it("are left alone by whoever scrolls up, until the end is reached again", () => {
    const { come, scrolledTo, follows } = shown();
    come(100);
    scrolledTo(100 * LINE - HEIGHT);
    scrolledTo(50 * LINE);
    expect(follows()).toBe(false);
    come(200);
    scrolledTo(60 * LINE);
    expect(follows()).toBe(false);
    scrolledTo(200 * LINE - HEIGHT);
    expect(follows()).toBe(true);
  });
});
