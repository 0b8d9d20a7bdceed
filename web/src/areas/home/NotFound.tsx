import { ButtonLink, EmptyState, KeyboardHint, Page } from "@/components";
import { paths } from "@/paths";

export function Component() {
  return (
    <Page title="No such page">
      <div className="card">
        <EmptyState icon="search" title="There is nothing at this address" actions={<ButtonLink kind="primary" to={paths.home()}>Go home</ButtonLink>}>
          The link may be incomplete, or the thing that it led to was deleted. Press <KeyboardHint keys="/" /> to search.
        </EmptyState>
      </div>
    </Page>
  );
}
