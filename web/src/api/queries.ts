/** One cache of what the server said, and when to ask again. */
import { QueryClient } from "@tanstack/react-query";

import { session } from "@/session/session";
import { Problem } from "./problem";

/** A server that is away or in trouble may answer the next time; one that refuses will do so again. */
export const worthAnotherTry = (error: Error) => !(error instanceof Problem) || error.status === 0 || error.status >= 500;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && worthAnotherTry(error),
      throwOnError: false,
    },
    mutations: { retry: false },
  },
});

// Nobody sees what was loaded for somebody else.
session.onPersonChange(() => queryClient.clear());
