import { EventView } from "@/live";
import { useWorkflow } from "./Workflow";

/** What happens in all executions of a workflow, as it happens. */
export function Component() {
  const { id } = useWorkflow();
  return <EventView workflow={id} live />;
}
