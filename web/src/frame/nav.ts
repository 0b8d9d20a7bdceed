import type { IconName } from "@/components";
import { paths } from "@/paths";

export interface NavEntry {
  to: string;
  label: string;
  icon: IconName;
  end?: boolean;
}

export const projectLinks = (project: string): NavEntry[] => [
  { to: paths.project(project), label: "Workflows", icon: "flow", end: true },
  { to: paths.projectExecutions(project), label: "Executions", icon: "play" },
  { to: paths.projectSecrets(project), label: "Secrets", icon: "key" },
  { to: paths.projectMembers(project), label: "Members", icon: "people" },
  { to: paths.projectSettings(project), label: "Settings", icon: "gear" },
];

export const companyLinks = (company: string): NavEntry[] => [
  { to: paths.company(company), label: "Projects", icon: "folder", end: true },
  { to: paths.companyMembers(company), label: "Members", icon: "people" },
  { to: paths.companyProviders(company), label: "Identity providers", icon: "shield" },
  { to: paths.companyAudit(company), label: "Audit log", icon: "list" },
  { to: paths.companySettings(company), label: "Settings", icon: "gear" },
];
