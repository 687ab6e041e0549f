// Calls of the API, the token, and what happens while the store does not respond.
import { byId, say } from "./dom.js";

export const config = await (await fetch("/config.json")).json();

/** A response that is not 2xx. Its message is the API's. */
export class Refused extends Error {
  constructor(response, data) {
    super(messageOf(data) || `The store responded with status ${response.status}.`);
    this.status = response.status;
    this.data = data;
    this.retrySeconds = Number(response.headers.get("retry-after")) || 0;
    this.left = remaining(response);
  }
}

/** There was no response. */
export class Offline extends Error {}

export const messageOf = (data) => (data && (data.message || data.error)) || "";
const remaining = (response) => response.headers.get("ratelimit-remaining");

export const session = {
  get token() {
    return localStorage.getItem("token");
  },
  set(token) {
    localStorage.setItem("token", token);
  },
  clear() {
    localStorage.removeItem("token");
    localStorage.removeItem("chat");
  },
};

/** Runs when the store responds again. */
export const connection = { isLost: false, restored: () => {} };

function lost() {
  if (connection.isLost) return;
  connection.isLost = true;
  const banner = byId("offline");
  banner.textContent = "The store does not respond. Nothing you typed is lost; this page tries again by itself.";
  banner.hidden = false;
  const again = async () => {
    try {
      await fetch(`${config.api}/settings/get`, { cache: "no-store" });
    } catch {
      setTimeout(again, 1500);
      return;
    }
    connection.isLost = false;
    banner.hidden = true;
    say("The store responds again.");
    connection.restored();
  };
  setTimeout(again, 1500);
}

/** Calls the API. Returns the body of a 2xx response, which can still be a refusal: see `accepted`. */
export async function call(path, body, { method = "POST", credentials = "omit", seen, asGuest = false } = {}) {
  const headers = {};
  if (session.token && method === "POST" && !asGuest) headers.authorization = `Bearer ${session.token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(config.api + path, { method, headers, credentials, body: body && JSON.stringify(body) });
  } catch {
    lost();
    throw new Offline("The store does not respond.");
  }
  const data = await response.json().catch(() => null);
  seen?.(remaining(response));
  if (response.ok) return data;
  const refused = new Refused(response, data);
  // The token has expired, or the server has other keys now.
  if (response.status === 401 && data?.status === false && session.token && !asGuest) {
    session.clear();
    dispatchEvent(new Event("session"));
  }
  throw refused;
}

/** The same call as a visitor without a login gets it; null if nobody is logged in, or the store shows nothing to guests. */
export async function asGuest(path) {
  if (!session.token) return null;
  try {
    return await call(path, undefined, { asGuest: true });
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}

export const get = (path) => call(path, undefined, { method: "GET" });

/** Makes a change. Returns the body if it was made; otherwise says why, and returns null. */
export async function accepted(path, body, complain = (text) => text && say(text, "bad")) {
  let data = null;
  let problem = "";
  try {
    data = await call(path, body);
    if (data?.success === false || data?.status === false) problem = messageOf(data);
  } catch (error) {
    problem = error.message;
    if (!(error instanceof Refused || error instanceof Offline)) throw error;
  }
  complain(problem);
  return problem ? null : data;
}
