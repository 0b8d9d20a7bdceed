/** Oneself: profile, password, linked providers, sessions. */
import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  { path: "me", lazy: () => import("./Profile") },
  { path: "me/sign-in", lazy: () => import("./SignIn") },
  { path: "me/sessions", lazy: () => import("./Sessions") },
];
