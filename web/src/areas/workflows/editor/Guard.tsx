import { useEffect } from "react";
import { useBlocker } from "react-router";

import { Button, Dialog, DialogActions } from "@/components";

/** Before unsaved changes are left behind, one is asked: here when another page is opened, by the browser when the tab closes. */
export function Guard({ dirty }: { dirty: boolean }) {
  const blocker = useBlocker(({ currentLocation, nextLocation }) => dirty && currentLocation.pathname !== nextLocation.pathname);
  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [dirty]);
  const stay = () => blocker.reset?.();
  return (
    <Dialog open={blocker.state === "blocked"} onClose={stay} title="Leave without saving?">
      <p>What you changed in the definition is not saved, and would be lost.</p>
      <DialogActions>
        <Button onClick={stay}>Stay here</Button>
        <Button kind="danger" onClick={() => blocker.proceed?.()}>Leave without saving</Button>
      </DialogActions>
    </Dialog>
  );
}
