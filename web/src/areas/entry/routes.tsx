/** Sign up, sign in, forgotten passwords: pages outside the frame. */
import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [
  { path: "sign-in", lazy: () => import("./SignIn") },
  { path: "sign-in/directory", lazy: () => import("./Directory") },
  { path: "sign-up", lazy: () => import("./SignUp") },
  { path: "forgot", lazy: () => import("./Forgot") },
  { path: "reset", lazy: () => import("./Reset") },
];
