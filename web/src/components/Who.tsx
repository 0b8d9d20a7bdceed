import type { Schema } from "@/api/client";

/** A person by name, with the address on hover: two may have the same name. */
export function Who({ person }: { person: Schema<"Person"> }) {
  return <span title={person.email || person.id}>{person.display_name || person.email || "somebody who is gone"}</span>;
}
