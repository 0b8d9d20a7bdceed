/** How one can sign in here: social providers, and the company's own for an email. Asked of the server, never guessed. */
import { useQuery } from "@tanstack/react-query";

import { api, type Schema } from "@/api/client";

export type Methods = Schema<"Methods">;

const NAMES: Record<string, string> = { google: "Google", github: "GitHub", facebook: "Facebook", x: "X" };

/** "Google" when that is what it is; else the name that the deployment gave it. */
export function nameOf(provider: { name: string; kind: string }): string {
  const words = provider.name.replace(/[_-]+/g, " ");
  return NAMES[provider.kind] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

export function looksWhole(email: string): boolean {
  return /^[^\s@]+@[^\s@]+\.[^\s@.]{2,}$/.test(email.trim());
}

export function useMethods(email: string) {
  const asked = looksWhole(email) ? email.trim() : undefined;
  // By domain: every letter before the @ would be another question.
  const domain = asked?.slice(asked.indexOf("@"));
  return useQuery({
    queryKey: ["methods", domain ?? ""],
    queryFn: () => api.get("/api/v1/auth/methods", { params: { query: asked ? { email: asked } : {} } }),
    placeholderData: (before: Methods | undefined) => before,
    staleTime: 60_000,
    retry: false,
  });
}

/** A way in is an address of this server; it brings the visitor back to `next`. */
export function wayIn(url: string, email: string, next: string): string {
  const address = new URL(url, location.origin);
  if (address.searchParams.has("email")) address.searchParams.set("email", email.trim());
  address.searchParams.set("next", next);
  return address.pathname + address.search;
}
