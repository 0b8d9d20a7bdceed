import { useQueries, useQuery } from "@tanstack/react-query";

import { type Company, myProjectsQuery, organizationsQuery, type Project } from "@/api/places";
import { myAccessQuery } from "../team/access";

/** The projects that are in none of the companies and organizations that one sees; none until all of that is known. */
export function useShared(companies: Company[]): Project[] {
  const mine = useQuery(myProjectsQuery);
  const access = useQueries({ queries: companies.map((one) => myAccessQuery("company", one.id)) });
  const open = companies.filter((_, index) => access[index]?.data);
  const organizations = useQueries({ queries: open.map((one) => organizationsQuery(one.id)) });
  if ([...access, ...organizations].some((query) => query.isPending)) return [];
  const seen = new Set([...open, ...organizations.flatMap((query) => query.data?.items ?? [])].map((one) => one.id));
  return (mine.data?.items ?? []).filter((project) => !seen.has(project.company_id));
}
