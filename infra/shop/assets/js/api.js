// Calls of the API, the token, and what happens while the store does not respond.
import { byId, say, t } from "./dom.js";

/** The API is at the shop's own address. */
const API = "/api";

/** A response that is not 2xx. Its message is the API's. */
export class Refused extends Error {
  constructor(response, data) {
    super(messageOf(data) || t("status", response.status));
    this.status = response.status;
    this.retrySeconds = Number(response.headers.get("retry-after")) || 0;
  }
}

/** There was no response. */
export class Offline extends Error {}

const messageOf = (data) => (data && (data.message || data.error)) || "";
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
    delete document.documentElement.dataset.session;
    dispatchEvent(new Event("session"));
  },
};

/** Runs when the store responds again. */
export const connection = { isLost: false, restored: () => {} };

function lost() {
  if (connection.isLost) return;
  connection.isLost = true;
  const banner = byId("offline");
  banner.textContent = t("offline");
  banner.hidden = false;
  const again = async () => {
    try {
      await fetch(`${API}/settings/get`, { cache: "no-store" });
    } catch {
      setTimeout(again, 1500);
      return;
    }
    connection.isLost = false;
    banner.hidden = true;
    say(t("offline.over"));
    connection.restored();
  };
  setTimeout(again, 1500);
}

/** Calls the API. Returns the body of a 2xx response, which can still be a refusal: see `accepted`. */
export async function call(path, body, { method = "POST", seen } = {}) {
  const headers = {};
  const token = method === "POST" ? session.token : null;
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(API + path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    lost();
    throw new Offline(t("offline.short"));
  }
  const data = await response.json().catch(() => null);
  seen?.(remaining(response));
  if (response.ok) return data;
  if (response.status !== 401 || !token) throw new Refused(response, data);
  // The token has expired, or the server has other keys now. Of calls that are refused together, the first one says so.
  if (session.token === token) {
    session.clear();
    dispatchEvent(new Event("expired"));
  }
  throw new Refused(response, { message: t("login.over") });
}

export const get = (path) => call(path, undefined, { method: "GET" });

/** Whether an error is one that a page shows, and not a fault of a script. */
export const isShown = (error) => error instanceof Refused || error instanceof Offline;

/** Makes a change. Returns the body if it was made; otherwise says why, and returns null. */
export async function accepted(path, body, complain = (text) => text && say(text, "bad")) {
  let data = null;
  let problem = "";
  try {
    data = await call(path, body);
    if (data?.success === false || data?.status === false) problem = messageOf(data);
  } catch (error) {
    if (!isShown(error)) throw error;
    problem = error.message;
  }
  complain(problem);
  return problem ? null : data;
}
