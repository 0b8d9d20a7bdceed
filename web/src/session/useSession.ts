import { useSyncExternalStore } from "react";

import { session, type SessionState } from "./session";

export function useSession(): SessionState {
  return useSyncExternalStore(session.subscribe, () => session.state);
}

/** Changes when another person is signed in, whatever page they find. */
export function usePerson(): string {
  return useSyncExternalStore(session.subscribe, () => session.person);
}
