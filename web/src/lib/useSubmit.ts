import { type FormEvent, useState } from "react";

import { asProblem, type Problem } from "@/api/problem";

/** A form that is being sent: whether it is, and what the server had against it. */
export function useSubmit(send: (fields: (name: string) => string) => Promise<unknown>) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const onSubmit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    setBusy(true);
    setProblem(null);
    try {
      await send((name) => String(data.get(name) ?? ""));
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, onSubmit: (event: FormEvent<HTMLFormElement>) => void onSubmit(event) };
}
