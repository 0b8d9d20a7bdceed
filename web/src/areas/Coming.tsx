import { EmptyState, Page } from "@/components";

/** Holds the place of a page that is not built yet. Goes when the last one is. */
export function Component() {
  return (
    <Page title="Not built yet">
      <div className="card"><EmptyState icon="clock" title="This page is being built">Until then, the API has it: see the documentation in the sidebar.</EmptyState></div>
    </Page>
  );
}
