import { api } from "./client";

export const meQuery = { queryKey: ["me"], queryFn: () => api.get("/api/v1/auth/me"), staleTime: 60_000 };
