/** Oneself: profile, password, linked providers, sessions. */
import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  { path: "me", lazy: () => import("../Coming") },
  { path: "me/sessions", lazy: () => import("../Coming") },
];
