/** Home, the first steps, and a company with its projects. */
import type { RouteObject } from "react-router";

import { registerSearch } from "@/frame/search";
import { companyLinks, projectLinks } from "@/frame/nav";
import { paths } from "@/paths";

export const routes: RouteObject[] = [
  { index: true, lazy: () => import("./Home") },
  { path: "welcome", lazy: () => import("./Welcome") },
  { path: "companies/:companyId", lazy: () => import("./Company") },
];

registerSearch({
  id: "pages",
  title: "Pages",
  last: true,
  find: (query, place) => {
    const pages = [
      { to: paths.home(), label: "Home", icon: "home" as const },
      { to: paths.system(), label: "All workflows", icon: "chart" as const },
      { to: paths.executions(), label: "All executions", icon: "play" as const },
      ...(place.project ? projectLinks(place.project).map((one) => ({ ...one, about: "Project" })) : []),
      ...(place.company ? companyLinks(place.company).map((one) => ({ ...one, about: "Company" })) : []),
      { to: paths.me(), label: "Profile", icon: "person" as const },
      { to: paths.welcome(), label: "New company or project", icon: "plus" as const },
    ];
    const wanted = query.toLowerCase();
    const hits = pages.filter((page) => page.label.toLowerCase().includes(wanted));
    return Promise.resolve(hits.slice(0, 8).map((page) => ({ key: `page-${page.to}`, title: page.label, icon: page.icon, to: page.to, ...("about" in page ? { about: page.about } : {}) })));
  },
});
