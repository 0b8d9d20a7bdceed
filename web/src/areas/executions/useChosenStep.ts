import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";

import type { Step } from "./data";
import { stepFor } from "./steps";

/** The step that one looks at is in the address: by number, or the last run of a task by its reference. */
export function useChosenStep(steps: readonly Step[]) {
  const [search, setSearch] = useSearchParams();
  const wanted = search.get("step");
  const chosen = useMemo(() => stepFor(steps, wanted), [steps, wanted]);
  const choose = useCallback(
    (step: string | number | null) =>
      setSearch((was) => {
        const now = new URLSearchParams(was);
        if (step === null) now.delete("step");
        else now.set("step", String(step));
        return now;
      }, { replace: true, preventScrollReset: true }),
    [setSearch],
  );
  return { wanted, chosen, choose };
}
