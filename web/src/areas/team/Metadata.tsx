import { useState } from "react";

import { TextArea } from "@/components";

/** Free JSON that programs keep with a thing. Sent as the field `metadata`; what is not an object is said before it is sent. */
export function Metadata({ value, disabled }: { value: Record<string, unknown>; disabled?: boolean }) {
  const [wrong, setWrong] = useState<string>();
  return (
    <TextArea
      label="Metadata"
      name="metadata"
      rows={4}
      style={{ fontFamily: "var(--mono)" }}
      defaultValue={JSON.stringify(value, null, 2)}
      disabled={disabled}
      spellCheck={false}
      hint="A JSON object, for programs of your own. Penstock only keeps it."
      error={wrong}
      onInput={(event) => {
        const fault = faultOf(event.currentTarget.value);
        setWrong(fault);
        event.currentTarget.setCustomValidity(fault ?? "");
      }}
    />
  );
}

export function faultOf(text: string): string | undefined {
  try {
    const given: unknown = JSON.parse(text || "{}");
    return typeof given === "object" && given !== null && !Array.isArray(given) ? undefined : "A JSON object is expected: { … }";
  } catch (error) {
    return error instanceof Error ? error.message : "This is not JSON";
  }
}

/** An object of anything, in the only type that `openapi-fetch` takes for one. */
export type Anything = Record<string, never>;

export function metadataFrom(text: string): Anything {
  return JSON.parse(text || "{}") as Anything;
}
