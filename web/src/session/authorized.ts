/** `fetch` with the session's token. A token that the server no longer takes is renewed once, and the request repeated. */
import { session } from "./session";

export async function authorizedFetch(request: Request): Promise<Response> {
  const again = request.clone();
  const asked = session.person;
  // Who is signed out asks without a token (how one can sign in), and does not ask for one first.
  const response = await send(request, session.state === "out" ? null : await session.token());
  if (response.status !== 401) return response;
  // What one person asked for is not done by another, who signed in in another tab meanwhile.
  if (!(await session.renew()) || (asked !== "" && session.person !== asked)) return response;
  await response.body?.cancel();
  return send(again, await session.token());
}

function send(request: Request, token: string | null): Promise<Response> {
  if (token) request.headers.set("authorization", `Bearer ${token}`);
  return fetch(request);
}
