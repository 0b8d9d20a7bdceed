/** Executions: the live view of one. */
import type { RouteObject } from "react-router";

export const routes: RouteObject[] = [{ path: "executions/:executionId", lazy: () => import("../Coming") }];
