import { useSearchParams } from "react-router";

/** Sets one filter in the address, and goes back to the first page of what it finds. */
export function useFilter(): (name: string, value: string) => void {
  const [, setSearch] = useSearchParams();
  return (name, value) =>
    setSearch((was) => {
      const now = new URLSearchParams(was);
      now.delete("page");
      if (value) now.set(name, value);
      else now.delete(name);
      return now;
    }, { replace: true });
}
