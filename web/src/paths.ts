/** Every address of the console, by name. Links are made here and nowhere else, so that none can be wrong. */
const id = encodeURIComponent;
const query = (members: Record<string, string | number | undefined>) => {
  const given = Object.entries(members).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
};

export const paths = {
  home: () => "/",
  signIn: () => "/sign-in",
  signInDirectory: (provider: string, next: string) => `/sign-in/directory${query({ provider, next })}`,
  signUp: () => "/sign-up",
  forgot: () => "/forgot",
  reset: () => "/reset",
  welcome: () => "/welcome",

  company: (company: string) => `/companies/${id(company)}`,
  companyMembers: (company: string) => `/companies/${id(company)}/members`,
  companyProviders: (company: string) => `/companies/${id(company)}/providers`,
  companyProviderNew: (company: string, type?: string) => `/companies/${id(company)}/providers/new${query({ type })}`,
  companyProvider: (company: string, provider: string) => `/companies/${id(company)}/providers/${id(provider)}`,
  companyAudit: (company: string) => `/companies/${id(company)}/audit`,
  companySettings: (company: string) => `/companies/${id(company)}/settings`,

  project: (project: string) => `/projects/${id(project)}`,
  projectNew: (project: string, template?: string) => `/projects/${id(project)}/new${query({ template })}`,
  projectMembers: (project: string) => `/projects/${id(project)}/members`,
  projectExecutions: (project: string) => `/projects/${id(project)}/executions`,
  projectSecrets: (project: string) => `/projects/${id(project)}/secrets`,
  projectSettings: (project: string) => `/projects/${id(project)}/settings`,

  workflow: (workflow: string) => `/workflows/${id(workflow)}`,
  workflowEdit: (workflow: string, task?: string) => `/workflows/${id(workflow)}/edit${query({ task })}`,
  workflowRuns: (workflow: string) => `/workflows/${id(workflow)}/runs`,
  workflowLogs: (workflow: string) => `/workflows/${id(workflow)}/logs`,
  workflowEvents: (workflow: string) => `/workflows/${id(workflow)}/events`,
  workflowSettings: (workflow: string) => `/workflows/${id(workflow)}/settings`,
  workflowVersions: (workflow: string) => `/workflows/${id(workflow)}/versions`,
  workflowVersion: (workflow: string, version: number, { against, page }: { against?: number; page?: number } = {}) => `/workflows/${id(workflow)}/versions/${version}${query({ against, page })}`,
  workflowLinks: (workflow: string) => `/workflows/${id(workflow)}/links`,
  workflowPermissions: (workflow: string) => `/workflows/${id(workflow)}/permissions`,

  executions: () => "/executions",
  execution: (execution: string, step?: string) => `/executions/${id(execution)}${query({ step })}`,
  executionTab: (execution: string, tab: "timeline" | "logs" | "events" | "data" | "relatives") => `/executions/${id(execution)}/${tab}`,

  system: () => "/system",
  me: () => "/me",
  mySignIn: () => "/me/sign-in",
  mySessions: () => "/me/sessions",
};
