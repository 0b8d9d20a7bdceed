import { LogView } from "@/live";
import { useWorkflow } from "./Workflow";

/** What all executions of a workflow say, as they say it. */
export function Component() {
  const { id } = useWorkflow();
  return <LogView workflow={id} live />;
}
