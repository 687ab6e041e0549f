// Calls of the API, the token, and what happens while the store does not respond.
import { byId, h, kept, say, t } from "./dom.js";

/** The API is at the shop's own address. */
const API = "/api";

/** A response that is not 2xx. Its message is the API's. */
export class Refused extends Error {
  constructor(response, data) {
    super(words(response.status, messageOf(data)));
    this.status = response.status;
    this.retrySeconds = Number(response.headers.get("retry-after")) || 0;
  }
}

/** There was no response, or none that is whole. */
export class Offline extends Error {}

/** What a visitor is shown of a refusal: the API's words, but of a fault of the store's the shop's own. */
function words(status, message) {
  if (status < 500) return message || t("status", status);
  return t(status === 500 ? "fault" : "busy");
}

const messageOf = (data) => (data && (data.message || data.error)) || "";
const remaining = (response) => response.headers.get("ratelimit-remaining");

/** What a token says of its login; empty without one that can be read. */
function claims(token) {
  try {
    return JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))) ?? {};
  } catch {
    return {};
  }
}

export const session = {
  get token() {
    return kept.get("token");
  },
  /** The login's id, which no other login of the account has. */
  get login() {
    const { sub, sid } = claims(this.token);
    return sub && `${sub}-${sid ?? ""}`;
  },
  /** Whether the visitor only typed a name, which proves nothing. */
  get isByName() {
    return claims(this.token).via === "name";
  },
  /** When the login was, in milliseconds. */
  get since() {
    return claims(this.token).iat * 1000;
  },
  set(token) {
    kept.set("token", token);
  },
  clear() {
    kept.remove("token");
    kept.remove("chat");
    delete document.documentElement.dataset.session;
    dispatchEvent(new Event("session"));
  },
};

/** Milliseconds after which a call has failed. The gateway of the API gives up after 30 seconds. */
const TIMEOUT = 35_000;

/** The response to a request and its body; null if that is not JSON. What takes too long, or breaks off, is an error. */
async function request(path, options) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT);
  try {
    const response = await fetch(API + path, { ...options, signal: abort.signal });
    const text = await response.text();
    return { response, data: parsed(text) };
  } finally {
    clearTimeout(timer);
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Milliseconds until the store is tried again: at first, and at most. Each time it takes twice as long, until the page is shown. */
const AGAIN = { first: 1500, most: 60_000 };
/** Runs when the store responds again. */
export const connection = { isLost: false, pause: AGAIN.first, calm: () => { connection.pause = AGAIN.first; }, restored: () => {} };

function lost() {
  if (connection.isLost) return;
  connection.isLost = true;
  let timer;
  const again = async () => {
    clearTimeout(timer);
    try {
      await request("/settings/get", { cache: "no-store" });
    } catch {
      return later();
    }
    if (!connection.isLost) return;
    connection.isLost = false;
    banner.hidden = true;
    say(t("offline.over"));
    connection.restored();
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(again, connection.pause);
    connection.pause = Math.min(connection.pause * 2, AGAIN.most);
  };
  const banner = byId("offline");
  banner.replaceChildren(t("offline"), " ", h("button", { type: "button", class: "link", onclick: again }, t("again")));
  banner.hidden = false;
  later();
}

/**
 * Calls the API. Returns the body of a 2xx response, which can still be a refusal: see `accepted`. Of an optional call that gets no
 * response, such as one that a filter in the browser blocks, the page says nothing. A change that needs a login is made by who was logged in.
 */
export async function call(path, body, { method = "POST", seen, isOptional, isChange } = {}) {
  const headers = {};
  const token = method === "POST" ? session.token : null;
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const { response, data } = await request(path, { method, headers, body: body && JSON.stringify(body), keepalive: isChange }).catch(() => ({}));
  // A response of 2xx has a body: one without was cut off on its way.
  if (!response || (response.ok && data === null)) {
    if (!isOptional) lost();
    throw new Offline(t("offline.short"));
  }
  seen?.(remaining(response));
  if (response.ok) return data;
  if (response.status !== 401 || !(token || isChange)) throw new Refused(response, data);
  // The token has expired, another tab has taken it away, or the server has other keys now. Of calls that are refused together, the first one says so.
  if (session.token === token) {
    session.clear();
    dispatchEvent(new Event("expired"));
  }
  throw new Refused(response, { message: t("login.over") });
}

export const get = (path, options) => call(path, undefined, { method: "GET", ...options });

/** What a page is complete without: the response to a call, or this if there is none or it is refused. A login that is over is not hidden. */
export const optional = (path, otherwise, body) => call(path, body, { isOptional: true }).catch((error) => {
  if (!isShown(error) || error.status === 401) throw error;
  return otherwise;
});

/** Whether an error is one that a page shows, and not a fault of a script. */
export const isShown = (error) => error instanceof Refused || error instanceof Offline;

/** Makes a change. Returns the body if it was made; otherwise says why, and returns null. `complain` is also given the error, if it was one. */
export async function accepted(path, body, complain = (text) => text && say(text, "bad"), options = {}) {
  let data = null;
  let [problem, reason] = ["", null];
  try {
    data = await call(path, body, { isChange: true, ...options });
    if (data?.success === false || data?.status === false) problem = messageOf(data);
  } catch (error) {
    if (!isShown(error)) throw error;
    [problem, reason] = [error.message, error];
  }
  complain(problem, reason);
  return problem ? null : data;
}
