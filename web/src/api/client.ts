/** The one way to the server: typed by our own OpenAPI document, bearing the session's token, failing as `Problem`. */
import createClient, { type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";
import type { HttpMethod, MediaType, PathsWithMethod } from "openapi-typescript-helpers";

import { authorizedFetch } from "@/session/authorized";
import { asProblem, problemFrom } from "./problem";
import type { components, paths } from "./schema";

export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

const client = createClient<paths>({ fetch: authorizedFetch });

/** The answer's body, or a `Problem` thrown. */
async function body<T extends Record<string | number, unknown>, O, M extends MediaType>(
  asked: Promise<FetchResponse<T, O, M>>,
): Promise<NonNullable<FetchResponse<T, O, M>["data"]>> {
  let answered: FetchResponse<T, O, M>;
  try {
    answered = await asked;
  } catch (error) {
    throw asProblem(error);
  }
  if (!answered.response.ok) throw problemFrom(answered.error, answered.response);
  return answered.data as NonNullable<FetchResponse<T, O, M>["data"]>;
}

type Paths<Method extends HttpMethod> = PathsWithMethod<paths, Method>;
type Init<Path extends keyof paths, Method extends HttpMethod> =
  MaybeOptionalInit<paths[Path], Method & keyof paths[Path]>;
type Rest<T> = undefined extends T ? [init?: T] : [init: T];

/** `await api.get("/api/v1/workflows/{id}", { params: { path: { id } } })` is a workflow, or throws a `Problem`. */
export const api = {
  get: <Path extends Paths<"get">>(path: Path, ...init: Rest<Init<Path, "get">>) =>
    body(client.GET(path, ...(init as never))),
  post: <Path extends Paths<"post">>(path: Path, ...init: Rest<Init<Path, "post">>) =>
    body(client.POST(path, ...(init as never))),
  put: <Path extends Paths<"put">>(path: Path, ...init: Rest<Init<Path, "put">>) =>
    body(client.PUT(path, ...(init as never))),
  delete: <Path extends Paths<"delete">>(path: Path, ...init: Rest<Init<Path, "delete">>) =>
    body(client.DELETE(path, ...(init as never))),
};
