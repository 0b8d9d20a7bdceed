import { useCallback } from "react";

import { EventView } from "@/live";
import { paths } from "@/paths";
import { useShown } from "./context";

export function Component() {
  const { execution, live } = useShown();
  const stepLink = useCallback((reference: string) => paths.execution(execution.id, reference), [execution.id]);
  return <EventView workflow={execution.workflow_id} execution={execution.id} live={live} stepLink={stepLink} />;
}
