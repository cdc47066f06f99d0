// The public API, as any client uses it: a key if there is one, else an anonymous token.

import { parse, print } from "./exact.js";

const KEPT = "turnbuckle.key"; // in the tab's own storage; never in an address
const TIMEOUT_MS = 20_000;

export class Trouble extends Error {
  // kind: "key" (not accepted), "denied" (absent or unreachable), "refused", "away" (try again later)
  constructor(kind, message, retryMs = null) {
    super(message);
    this.kind = kind;
    this.retryMs = retryMs;
  }
}

export class Api {
  constructor(root) {
    this.root = root; // ends with /v1/
    this.key = storage()?.getItem(KEPT) ?? null;
    this.token = null;
  }

  use(key) {
    this.key = key;
    this.token = null;
    if (key === null) storage()?.removeItem(KEPT);
    else storage()?.setItem(KEPT, key);
  }

  get(path) {
    return this.#authorized("GET", path);
  }

  query(revision, command, more = {}) {
    return this.#authorized("POST", `revisions/${encodeURIComponent(revision)}/data/query`, { command, ...more });
  }

  command(revision, command, more = {}) {
    return this.#authorized("POST", `revisions/${encodeURIComponent(revision)}/data/command`, { command, ...more });
  }

  async #authorized(method, path, body) {
    if (this.key !== null) return this.#send(method, path, body, { "x-api-key": this.key });
    const isFresh = this.token === null;
    this.token ??= (await this.#send("GET", "auth/core/anonymous")).access_token;
    try {
      return await this.#send(method, path, body, { authorization: `Bearer ${this.token}` });
    } catch (trouble) {
      this.token = null;
      if (trouble.kind !== "key" || isFresh) throw trouble;
      return this.#authorized(method, path, body); // the token had ended
    }
  }

  async #send(method, path, body, headers = {}) {
    if (body !== undefined) headers["content-type"] = "application/json";
    let response, text;
    try {
      response = await fetch(new URL(path, this.root), {
        method,
        headers,
        body: body === undefined ? undefined : print(body, ""),
        cache: "no-store",
        credentials: "omit",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      text = await response.text();
    } catch (cause) {
      // A key with characters that no header can carry is the one failure here that waiting does not mend.
      if (cause instanceof TypeError && /[^\x21-\x7e]/.test(this.key ?? "")) throw new Trouble("key", "malformed key");
      throw new Trouble("away", "The server does not answer.");
    }
    const answer = readable(text);
    if (response.ok && answer?.status === "success") return answer;
    throw troubleOf(response, answer);
  }
}

function storage() {
  try {
    return sessionStorage;
  } catch {
    return null; // a browser set to keep nothing: the key then lives as long as the page
  }
}

function readable(text) {
  try {
    return parse(text);
  } catch {
    return null; // not ours: a proxy's page, say
  }
}

function troubleOf(response, answer) {
  const told = answer?.message ?? answer?.error?.message ?? `The server answered ${response.status}.`;
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  const retryMs = Number.isFinite(seconds) ? seconds * 1000 : null;
  if (response.status === 401) return new Trouble("key", told);
  if (response.status === 403) return new Trouble("denied", told);
  if (response.status === 429 || response.status >= 500 || response.ok) return new Trouble("away", told, retryMs);
  return new Trouble("refused", told);
}
