import { EventView } from "@/live";
import { paths } from "@/paths";
import { useShown } from "./context";

export function Component() {
  const { execution, live } = useShown();
  return <EventView workflow={execution.workflow_id} execution={execution.id} live={live} stepLink={(reference) => paths.execution(execution.id, reference)} />;
}
