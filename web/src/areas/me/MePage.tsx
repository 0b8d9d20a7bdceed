import type { ReactNode } from "react";

import { LinkTabs, Page } from "@/components";
import { paths } from "@/paths";

/** Around every page about oneself. */
export function MePage({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <Page title={title} actions={actions}>
      <LinkTabs label="About you" tabs={[
        { to: paths.me(), label: "Profile", end: true },
        { to: paths.mySignIn(), label: "Sign-in" },
        { to: paths.mySessions(), label: "Sessions" },
      ]} />
      {children}
    </Page>
  );
}
