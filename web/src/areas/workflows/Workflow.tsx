/** Around all pages of a workflow: its name and status, what one can do with it, and where else to look. */
import { useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { Outlet, useLocation, useOutletContext, useParams } from "react-router";

import { Badge, ErrorState, LinkTabs, Page, SkeletonLines, Status } from "@/components";
import { useInProject } from "@/frame/scope";
import { paths } from "@/paths";
import { Actions } from "./Actions";
import { accessQuery, atLeast, type Role, type Tagged, workflowQuery } from "./data";
import { unsentTo } from "./trigger/remembered";
import { TriggerDialog } from "./trigger/TriggerDialog";
import styles from "./Workflows.module.css";

export interface WorkflowContext extends Tagged {
  id: string;
  /** Whether the visitor's role is this one, or a higher. */
  may: (role: Role) => boolean;
  trigger: () => void;
}

export const useWorkflow = () => useOutletContext<WorkflowContext>();

const tabsOf = (id: string) => [
  { to: paths.workflow(id), label: "Overview", end: true },
  { to: paths.workflowEdit(id), label: "Editor" },
  { to: paths.workflowRuns(id), label: "Executions" },
  { to: paths.workflowLogs(id), label: "Logs" },
  { to: paths.workflowEvents(id), label: "Events" },
  { to: paths.workflowVersions(id), label: "Versions" },
  { to: paths.workflowLinks(id), label: "Links" },
  { to: paths.workflowPermissions(id), label: "Permissions" },
  { to: paths.workflowSettings(id), label: "Settings" },
];

export function Component() {
  const { workflowId: id = "" } = useParams();
  const { pathname } = useLocation();
  const read = useQuery(workflowQuery(id));
  const access = useQuery(accessQuery(id));
  const project = useInProject(read.data?.workflow.project_id);
  // Who was about to start it when the session ended is where they were.
  const [triggering, setTriggering] = useState(() => unsentTo(id) !== undefined);
  const tabs = tabsOf(id);
  const tab = tabs.find((one) => (one.end ? pathname === one.to : pathname.startsWith(one.to)));
  if (read.error && !read.data) return <Page title="Workflow"><ErrorState error={read.error} onRetry={() => void read.refetch()} /></Page>;
  // What one may is known first: buttons that come later make the page jump, and a text would be locked to who may write it.
  if (!read.data || access.isPending) return <Page title="Workflow"><SkeletonLines lines={6} /></Page>;
  const { workflow } = read.data;
  const may = (role: Role) => atLeast(access.data?.role, role);
  const context: WorkflowContext = { ...read.data, id, may, trigger: () => setTriggering(true) };
  return (
    <Page
      full={tab?.to === paths.workflowEdit(id)}
      title={tab && !tab.end ? `${tab.label} · ${workflow.name}` : workflow.name}
      heading={workflow.name}
      about={
        <span className="row">
          <Status status={workflow.status} />
          {!workflow.validation.valid && <Badge tone="warn" icon="alert">Not valid yet</Badge>}
          <span className={styles["versions"]}>{versionWords(workflow.version, workflow.deployed_version)}</span>
        </span>
      }
      // Who has a role at this workflow alone may not see its project.
      crumbs={project.error ? [] : [{ to: paths.project(workflow.project_id), label: project.data?.name ?? "Project" }]}
      actions={<Actions context={context} />}
    >
      <LinkTabs label="Parts of the workflow" tabs={tabs} />
      <Suspense fallback={<SkeletonLines lines={5} />}>
        <Outlet context={context} />
      </Suspense>
      <TriggerDialog workflow={workflow} open={triggering} onClose={() => setTriggering(false)} />
    </Page>
  );
}

function versionWords(version: number, deployed: number | null): string {
  if (deployed === null) return `Version ${version}, never deployed`;
  return deployed === version ? `Version ${version} is deployed` : `Version ${deployed} is deployed, ${version} is the newest`;
}
