/** What went wrong, as the server says it (RFC 9457), or as we say it when no server answered. */
export interface FieldError {
  path: string;
  message: string;
}

export class Problem extends Error {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly requestId: string;
  readonly errors: FieldError[];
  readonly retryAfter: number | null;

  constructor(given: Partial<Pick<Problem, "status" | "title" | "detail" | "requestId" | "errors" | "retryAfter">>) {
    super(given.detail || given.title || "Something went wrong");
    this.name = "Problem";
    this.status = given.status ?? 0;
    this.title = given.title || "Something went wrong";
    this.detail = given.detail ?? "";
    this.requestId = given.requestId ?? "";
    this.errors = given.errors ?? [];
    this.retryAfter = given.retryAfter ?? null;
  }

  /** The message for one field of a form, by its JSON pointer. */
  field(name: string): string | undefined {
    return this.errors.find((error) => error.path === `/${name}`)?.message;
  }
}

export function unreachable(): Problem {
  return new Problem({
    title: "The server cannot be reached",
    detail: "Check your connection, or whether the server is running. What you see may be out of date.",
  });
}

/** In one piece: what happened, when what to do about it does not say so itself. */
export function wordsOf(problem: Problem): string {
  return problem.status === 0 && problem.detail ? `${problem.title}. ${problem.detail}` : problem.detail || problem.title;
}

/** From the parsed body of an answer (whatever it is) and the answer itself. */
export function problemFrom(body: unknown, response: Response): Problem {
  const members = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const text = (name: string) => (typeof members[name] === "string" ? (members[name] as string) : "");
  const after = Number(response.headers.get("retry-after"));
  return new Problem({
    status: response.status,
    title: text("title") || `The server answered ${response.status}`,
    detail: text("detail"),
    requestId: response.headers.get("x-request-id") ?? "",
    errors: Array.isArray(members["errors"]) ? (members["errors"] as FieldError[]) : [],
    retryAfter: Number.isFinite(after) && after > 0 ? after : null,
  });
}

// What a browser, and Vite, say when a part of the console could not be fetched.
const NOT_FETCHED = /preload CSS|imported module|module script/;

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof TypeError || (error instanceof Error && NOT_FETCHED.test(error.message))) return unreachable();
  return new Problem({ detail: error instanceof Error ? error.message : String(error) });
}
