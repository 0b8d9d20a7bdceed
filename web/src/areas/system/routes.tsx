/** The dashboard over all workflows that one may see. */
import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [{ path: "system", lazy: () => import("./System") }];
