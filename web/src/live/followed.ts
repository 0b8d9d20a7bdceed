/** How a list of which only what is in sight is drawn keeps up with its end. */
import { defaultRangeExtractor, type Range } from "@tanstack/react-virtual";

const WITH_THE_END = {
  // Drawn before the scrolling says where it is, and so drawn once.
  rangeExtractor: (range: Range) => defaultRangeExtractor(atTheEnd(range)),
  useFlushSync: false,
};
const WHERE_ONE_IS = { rangeExtractor: defaultRangeExtractor, useFlushSync: true };

/** For `useVirtualizer`; whoever follows also sets `scrollTop` to the end, which lays out once: `scrollToIndex` does so several times. */
export const followed = (following: boolean) => (following ? WITH_THE_END : WHERE_ONE_IS);

/** As many as are in sight, up to the last. */
function atTheEnd(range: Range): Range {
  const shown = range.endIndex - range.startIndex;
  return { ...range, startIndex: Math.max(0, range.count - 1 - shown), endIndex: range.count - 1 };
}
