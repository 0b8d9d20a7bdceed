import { useRouteError } from "react-router";

import { ErrorState } from "@/components";
import { useTitle } from "./title";

/** A page that could not be shown. After an update of the server, parts of the old console are gone: loading anew helps. */
export function Broken() {
  useTitle("Something went wrong");
  const error = useRouteError();
  return (
    <main style={{ padding: "var(--s5)" }}>
      <ErrorState error={error} onRetry={() => location.reload()} />
    </main>
  );
}
