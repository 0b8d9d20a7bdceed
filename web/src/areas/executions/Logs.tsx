import { LogView } from "@/live";
import { useShown } from "./context";

export function Component() {
  const { execution, live } = useShown();
  return <LogView workflow={execution.workflow_id} execution={execution.id} live={live} />;
}
