import { useEffect, useRef, useState } from "react";

import { Field } from "@/components";

const SETTLED = 250; // milliseconds after the last key

/** A field whose words are looked for once one stops typing. */
export function Sought({ value, label, onSeek }: { value: string; label: string; onSeek: (value: string) => void }) {
  const [text, setText] = useState(value);
  const seek = useRef(onSeek);
  seek.current = onSeek;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => seek.current(text), SETTLED);
    return () => clearTimeout(timer);
  }, [text, value]);
  return <Field label={label} hideLabel type="search" placeholder={label} maxLength={200} value={text} onChange={(event) => setText(event.target.value)} />;
}
