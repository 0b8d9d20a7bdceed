/** Where an execution comes from. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { workflowQuery } from "@/areas/workflows/data";
import { EmptyState, Section, Status, Table, Time } from "@/components";
import { paths } from "@/paths";
import { useShown } from "./context";
import { executionQuery, lineageOf, shortId, statusOf } from "./data";

interface Relative {
  as: string;
  id: string;
}

export function Component() {
  const { execution } = useShown();
  const { parent, link, rerunOf, origin } = lineageOf(execution);
  const rows: Relative[] = [
    ...(parent ? [{ as: "Started it and waits for it", id: parent }] : []),
    ...(link ? [{ as: "Started it by a link as it ended", id: link }] : []),
    ...(rerunOf ? [{ as: "Was run before with the same input", id: rerunOf }] : []),
    ...(origin ? [{ as: "Where it all began", id: origin }] : []),
  ];
  return (
    <Section title="Where it comes from">
      <Table
        label="Where it comes from"
        rows={rows}
        rowKey={(row) => row.as}
        empty={<EmptyState icon="link" title="It stands on its own">Neither another execution nor a link started it, and it is no repetition.</EmptyState>}
        columns={[
          { key: "id", head: "Execution", width: "minmax(9rem, 2fr)", cell: (row) => <Relation id={row.id} /> },
          { key: "as", head: "What it did", width: "minmax(9rem, 2fr)", cell: (row) => row.as },
          { key: "status", head: "Status", width: "minmax(7rem, 1fr)", cell: (row) => <StatusOf id={row.id} /> },
          { key: "at", head: "When", width: "minmax(8rem, 1fr)", wide: true, cell: (row) => <WhenOf id={row.id} /> },
        ]}
      />
    </Section>
  );
}

function Relation({ id }: { id: string }) {
  const execution = useQuery(executionQuery(id));
  const workflow = useQuery({ ...workflowQuery(execution.data?.workflow_id ?? ""), enabled: execution.data !== undefined });
  return <Link to={paths.execution(id)}>{workflow.data?.workflow.name ?? "Execution"} <span className="muted mono">{shortId(id)}</span></Link>;
}

function StatusOf({ id }: { id: string }) {
  const execution = useQuery(executionQuery(id));
  if (execution.error) return <span className="muted">Gone, or not yours to see</span>;
  return execution.data ? <Status status={statusOf(execution.data)} /> : null;
}

function WhenOf({ id }: { id: string }) {
  const execution = useQuery(executionQuery(id));
  return <Time at={execution.data?.created_at} />;
}
