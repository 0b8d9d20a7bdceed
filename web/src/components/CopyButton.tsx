import { useState } from "react";

import { copy } from "@/lib/copy";
import { IconButton } from "./Button";

export function CopyButton({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [done, setDone] = useState(false);
  const taken = async () => {
    await copy(typeof text === "string" ? text : text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return <IconButton label={done ? "Copied" : label} icon={done ? "check" : "copy"} size="small" onClick={() => void taken()} />;
}
