import { useEffect } from "react";
import { useBlocker } from "react-router";

import { Button, Dialog, DialogActions } from "@/components";
import { session } from "@/session/session";

/** Before unsaved changes are left behind, one is asked: here when another page is opened, by the browser when the tab closes. */
export function Guard({ dirty, onLeave }: { dirty: boolean; onLeave: () => void }) {
  // Who is signed out goes to sign in, whatever is unsaved: it is there again afterwards.
  const blocker = useBlocker(({ currentLocation, nextLocation }) => dirty && session.state === "in" && currentLocation.pathname !== nextLocation.pathname);
  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [dirty]);
  const stay = () => blocker.reset?.();
  const leave = () => {
    onLeave();
    blocker.proceed?.();
  };
  return (
    <Dialog open={blocker.state === "blocked"} onClose={stay} title="Leave without saving?">
      <p>What you changed in the definition is not saved, and would be lost.</p>
      <DialogActions>
        <Button onClick={stay}>Stay here</Button>
        <Button kind="danger" onClick={leave}>Leave without saving</Button>
      </DialogActions>
    </Dialog>
  );
}
