/** Who is signed in, in this tab.
 *
 * The session is the server's `HttpOnly` cookie, which no script can read. From it each tab gets an access token of its
 * own, kept in memory only. It is renewed from the cookie again and not with the refresh token: that works once, and a
 * laptop that falls asleep between request and answer would use it twice, which ends the session everywhere.
 */
import { Problem, problemFrom, unreachable } from "@/api/problem";

export type SessionState = "unknown" | "in" | "out";
/** Between tabs: nobody is signed in any more, or this person is. */
type Said = "signed-out" | `here ${string}`;

const EARLY = 60_000; // milliseconds before its end at which a token is renewed

export class Session {
  #state: SessionState = "unknown";
  #token = "";
  #person = "";
  #ends = 0;
  #renewing: Promise<boolean> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #listeners = new Set<() => void>();
  #changes = new Set<() => void>();
  #tabs: BroadcastChannel | null;

  constructor(tabs: BroadcastChannel | null = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("penstock")) {
    this.#tabs = tabs;
    tabs?.addEventListener("message", (event: MessageEvent<Said>) => void this.#heard(event.data));
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The id of who is signed in, or was last. */
  get person(): string {
    return this.#person;
  }

  /** Told when somebody comes or goes. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Called when what was loaded may belong to somebody else. */
  onPersonChange(listener: () => void): void {
    this.#changes.add(listener);
  }

  /** A token that is good for at least a while, or null when nobody is signed in. */
  async token(): Promise<string | null> {
    if (this.#token && Date.now() < this.#ends - EARLY / 2) return this.#token;
    return (await this.renew()) ? this.#token : null;
  }

  /** From the cookie, a new token: whether somebody is signed in. However many ask at once, one request is made. */
  renew(): Promise<boolean> {
    this.#renewing ??= this.#exchange().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async signIn(email: string, password: string): Promise<void> {
    await this.#ask("/user/auth", { email, password });
    await this.#arrived();
  }

  /** At a company's directory, which takes user names and passwords itself. */
  async signInAt(url: string, username: string, password: string): Promise<void> {
    await this.#send(url, { method: "POST", body: JSON.stringify({ username, password }) });
    await this.#arrived();
  }

  /** Have the directory's account open this one. A wrong password is answered as a token that has ended is: not repeated, it would count twice. */
  async linkAt(url: string, username: string, password: string): Promise<void> {
    const token = await this.token();
    await this.#send(url, { method: "POST", body: JSON.stringify({ username, password }), headers: { authorization: `Bearer ${token}` } });
  }

  async signUp(email: string, password: string): Promise<void> {
    await this.#ask("/user/create", { email, password, signin: "1" });
    await this.#arrived();
  }

  async resetPassword(token: string, password: string): Promise<void> {
    await this.#ask("/user/resetpassword", { token, password });
    await this.#arrived();
  }

  async forgotPassword(email: string): Promise<void> {
    await this.#ask("/user/forgotpassword", { email });
  }

  /** Another email or password. A new password ends every other session and renews this one, so the token is, too. */
  async changeAccount(fields: Record<string, string>): Promise<void> {
    await this.#ask("/user/update", fields);
    this.#forget();
    await this.renew();
  }

  async signOut(): Promise<void> {
    await this.#send("/user/signout", { method: "GET" });
    this.#leave();
    this.#tabs?.postMessage("signed-out" satisfies Said);
  }

  async #arrived(): Promise<void> {
    this.#forget();
    if (!(await this.renew())) {
      throw new Problem({ title: "Not signed in", detail: "The browser did not keep the session's cookie; allow cookies for this site." });
    }
    for (const listener of this.#changes) listener();
    this.#tabs?.postMessage(`here ${this.#person}` satisfies Said);
  }

  async #heard(said: Said): Promise<void> {
    if (said === `here ${this.#person}` && this.#state === "in") return;
    if (said === "signed-out") this.#leave();
    else {
      this.#forget();
      for (const listener of this.#changes) listener();
      await this.renew().catch(() => undefined);
    }
  }

  async #exchange(): Promise<boolean> {
    const { status, body } = await this.#send("/api/v1/auth/session", { method: "POST" }, [401]);
    if (status === 401) {
      this.#leave();
      return false;
    }
    const pair = body as { access_token: string; expires_in: number };
    this.#token = pair.access_token;
    const other = this.#nowIs(subjectOf(pair.access_token));
    this.#ends = Date.now() + pair.expires_in * 1000;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.renew().catch(() => undefined), Math.max(5_000, pair.expires_in * 1000 - EARLY));
    this.#become("in", other);
    return true;
  }

  /** Whether it is another person than before: one cookie is shared by all tabs, and not all of them saw it change. */
  #nowIs(person: string): boolean {
    if (person === this.#person) return false;
    const stranger = this.#person !== "";
    this.#person = person;
    if (stranger) for (const listener of this.#changes) listener();
    // Also on arrival: who comes back from a company's provider signed in there, and told no tab of it.
    this.#tabs?.postMessage(`here ${person}` satisfies Said);
    return true;
  }

  async #ask(path: string, fields: Record<string, string>): Promise<void> {
    await this.#send(path, { method: "POST", body: new URLSearchParams(fields) });
  }

  async #send(path: string, init: RequestInit, expected: number[] = []): Promise<{ status: number; body: unknown }> {
    let response: Response;
    try {
      response = await fetch(path, { ...init, credentials: "same-origin", headers: { ...init.headers, ...headersFor(init.body) } });
    } catch {
      throw unreachable();
    }
    // Read in any case: an answer that nobody reads keeps its connection.
    const body: unknown = await response.json().catch(() => null);
    if (!response.ok && !expected.includes(response.status)) throw problemFrom(body, response);
    return { status: response.status, body };
  }

  #forget(): void {
    this.#token = "";
    this.#ends = 0;
    clearTimeout(this.#timer);
  }

  #leave(): void {
    const was = this.#state;
    this.#forget();
    this.#become("out");
    if (was === "in") for (const listener of this.#changes) listener();
  }

  #become(state: SessionState, told = false): void {
    if (state === this.#state && !told) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

function headersFor(body: RequestInit["body"]): Record<string, string> {
  const accept = { accept: "application/json" };
  return typeof body === "string" ? { ...accept, "content-type": "application/json" } : accept;
}

function subjectOf(token: string): string {
  const claims = token.split(".")[1] ?? "";
  try {
    return String((JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))) as { sub?: unknown }).sub ?? "");
  } catch {
    return "";
  }
}

export const session = new Session();
