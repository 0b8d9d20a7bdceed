import { useOutletContext } from "react-router";

import type { ConnectionState } from "@/live";
import type { Execution } from "./data";
import type { Placed } from "./steps";
import type { Steps } from "./useSteps";

/** What every tab of an execution is given. */
export interface Shown {
  execution: Execution;
  steps: Steps;
  all: readonly Placed[];
  /** Whether more can happen. */
  live: boolean;
  connection: ConnectionState;
  mayRun: boolean;
}

export const useShown = () => useOutletContext<Shown>();
