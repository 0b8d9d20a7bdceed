/** All addresses. Each area brings its own in `areas/<area>/routes.tsx`; nothing of an area is loaded before it is visited. */
import { createBrowserRouter, type LoaderFunctionArgs, redirect } from "react-router";

import { routes as entry } from "@/areas/entry/routes";
import { routes as executions } from "@/areas/executions/routes";
import { routes as home } from "@/areas/home/routes";
import { routes as me } from "@/areas/me/routes";
import { routes as system } from "@/areas/system/routes";
import { routes as team } from "@/areas/team/routes";
import { routes as workflows } from "@/areas/workflows/routes";
import { Broken } from "@/frame/Broken";
import { Starting } from "@/frame/Starting";
import { paths } from "@/paths";
import { withNext } from "@/session/next";
import { session } from "@/session/session";

/** Before any page of the frame: somebody is signed in, or goes to sign in and comes back. */
async function signedIn({ request }: LoaderFunctionArgs) {
  if (session.state !== "in" && !(await session.renew())) {
    const { pathname, search } = new URL(request.url);
    throw redirect(withNext(paths.signIn(), pathname + search));
  }
  return null;
}

/** Before the pages for strangers: whether the cookie already says who comes. A server that is away is said by the page. */
async function known() {
  if (session.state === "unknown") await session.renew().catch(() => undefined);
  return null;
}

export const router = createBrowserRouter([
  {
    errorElement: <Broken />,
    hydrateFallbackElement: <Starting />,
    children: [
      { loader: known, shouldRevalidate: () => false, children: entry },
      {
        path: "/",
        lazy: () => import("@/frame/Frame"),
        loader: signedIn,
        errorElement: <Broken />,
        children: [
          {
            errorElement: <Broken />,
            children: [...home, ...workflows, ...executions, ...team, ...me, ...system, { path: "*", lazy: () => import("@/areas/home/NotFound") }],
          },
        ],
      },
    ],
  },
]);
