"""The black-box core: what buyers do, over HTTP, against the deployed functions: the calls of the event files. The exact
responses are tested in tests/, which run the same handlers."""

import http.client
import json
import re
import urllib.parse
from pathlib import Path

from checks import expect, expect_equal

ROOT = Path(__file__).resolve().parents[2]
# The operations of the documented interface, by path and method.
OPERATIONS = json.loads((ROOT / "infra" / "openapi.json").read_text())["paths"]
# The success of every endpoint on the sample store, `<function>/<endpoint>.json`, and of the second route of two.
FILES = sorted((ROOT / "events").glob("*/*.json"))
EVENTS = {file.stem: json.loads(file.read_text()) for file in FILES
          if "." not in file.stem or file.stem in ("list_categories.post", "chat.discord")}
# Served by the API's own address although a shop has an edge.
PAST_EDGE = ("/plugin/", "/payments/webhook/")


def needs_token(name, event):
    """Whether a call is refused without a token. Of an order it depends on the order, and that of `delivery` has an owner."""
    method, path = event["routeKey"].split(" ")
    security = OPERATIONS.get(path.replace("+}", "}"), {}).get(method.lower(), {}).get("security")
    return name == "delivery" or bool(security) and security[0] != {}


# What this stack responds otherwise: it has neither payments nor a chat platform, its gift cards have other codes, and its orders
# have commands for a game server.
OTHERWISE = {
    "get_gift": {"status": 200, "/status": False},
    "list_methods": {"status": 200, "": []},
    "create": {"status": 200, "/success": False},
    "stripe_webhook": {"status": 400},
    "chat_callback": {"status": 400},
    "queue": {"status": 200, "/0/username": "Thornwick"},
    "delivery": {"status": 200, "/lines/0/state": "waiting"},
}
# The buyer's order, of the event of checkStatus, and one without an owner.
ORDER, GUEST_ORDER = "4mjyi2i34hbzt6b6", "deploytestorder2"
LIMIT = 18


def pointed(value, pointer):
    """The value at a JSON pointer."""
    for part in pointer.split("/")[1:]:
        value = value[int(part) if isinstance(value, list) else part]
    return value


class Reply:
    def __init__(self, answer):
        self.status = answer.status
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        self.text = answer.read().decode()

    def json(self):
        return json.loads(self.text)

    def data(self):
        """The body as JSON; of a page, the data of its scripts; otherwise the text."""
        page = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', self.text)
        return self.json() if "json" in self.headers.get("content-type", "") else json.loads(page[1]) if page else self.text


class Storefront:
    """A deployed API, called as its clients call it."""

    def __init__(self, url, tokens=None, port=None, server_key=None, own=None):
        """`port`: of an emulator on this machine, which finds the API by the name of the host. `server_key`: of a game server.
        `own`: the API's own address, for those who do not call it through the shop."""
        self.url = urllib.parse.urlsplit(url)
        self.own = urllib.parse.urlsplit(own or url)
        self.port = port
        self.tokens = tokens or {}
        self.server_key = server_key

    def _connection(self, url, source):
        if self.port:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60, source_address=(source, 0))
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        return kind(url.netloc, timeout=30)

    def call(self, method, path, body=None, token=None, headers=(), raw=None, source="127.0.0.1", own=False):
        """`body` is sent as JSON, `raw` unchanged. `source`: the caller's address, before an emulator. `own`: at the API's own
        address."""
        url = self.own if own or path.startswith(PAST_EDGE) else self.url
        if url.path == "/api" and path.startswith("/shop/"):
            # The edge has pages at the root, and nowhere else.
            url, path = url._replace(path=""), path.removeprefix("/shop")
        sent = {"Host": url.netloc, **dict(headers)}
        if self.port and url.scheme == "https":
            # An emulator has no certificate: what would arrive encrypted says so.
            sent["X-Forwarded-Proto"] = "https"
        data = raw if body is None else json.dumps(body)
        if data is not None:
            sent["Content-Type"] = "application/json"
        if token:
            sent["Authorization"] = f"Bearer {token}"
        connection = self._connection(url, source)
        try:
            connection.request(method, url.path.rstrip("/") + path, data, sent)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def done(self, path, body, token):
        """A POST that has to succeed."""
        reply = self.call("POST", path, body, token)
        expect(reply.status == 200 and reply.json()["success"] is True, f"{path}: {reply.status} {reply.text[:200]}")
        return reply.json()

    def still_serves(self):
        """As every_endpoint, but for payments, which count their calls. The cart is no longer that of the events."""
        for name, event in EVENTS.items():
            if not event["rawPath"].startswith("/payments/"):
                self.event(name, event)

    def every_endpoint(self):
        """One success of each, with the values that its event file expects. Without the parameter Payments there is no method,
        and no webhook event is believed."""
        for name, event in EVENTS.items():
            reply, expected = self.event(name, event)
            for pointer, wanted in expected.items():
                if pointer != "status":
                    value = pointed(reply.data(), pointer)
                    holds = wanted[1:] in value if str(wanted).startswith("~") else value == wanted
                    expect(holds, f"{event['rawPath']} has not {wanted} at '{pointer}': {reply.text[:200]}")

    def chat_callback(self):
        """Without a login that was begun, it is a page that says what is missing: no platform is called."""
        reply = self.call("GET", "/auth/chat/callback?code=x&state=y")
        expect_equal("the chat callback", (reply.status, reply.headers["content-type"]), (400, "text/html; charset=utf-8"))
        return reply.text

    def event(self, name, event):
        """The call of an event file, by the buyer if it has a token, with this store's key if it has a game server's. Returns the
        response, which has the expected status, and what else is expected of it."""
        has_token = "authorization" in event["headers"]
        reply = self.send(event, self.tokens["buyer"] if has_token else None)
        expected = OTHERWISE.get(name, event["expected"])
        expect_equal(f"the status of {event['rawPath']} ({reply.text[:200]})", reply.status, expected["status"])
        return reply, expected

    def send(self, event, token):
        path = re.sub(r"/\d+-[0-9a-f]{40}/", f"/{self.server_key}/", event["rawPath"])
        query = "?" * bool(event["rawQueryString"]) + event["rawQueryString"]
        signature = [(name, value) for name, value in event["headers"].items() if name == "stripe-signature"]
        method = event["requestContext"]["http"]["method"]
        return self.call(method, path + query, token=token, headers=signature, raw=event.get("body"))

    def chat_login_needs(self, missing):
        """What the page of the chat callback names first."""
        expect(missing in self.chat_callback(), f"the page of the chat callback does not name {missing}")

    def addresses_and_caching(self):
        """What the gateway decodes, what it does not route, and what browsers may keep."""
        for path in ("/categories/get/%2Franks%2F", "/categories/get/1"):
            reply = self.call("POST", path, token=self.tokens["buyer"])
            expect_equal(f"the category of {path}", reply.json().get("category", {}).get("id"), 1)
        reply = self.call("POST", "/categories/get/nowhere", token=self.tokens["buyer"])
        expect_equal("the status of an unknown category", reply.status, 404)
        for method, path in (("GET", "/user"), ("GET", "/nowhere")):
            reply = self.call(method, path)
            expect_equal(f"the response to {method} {path}", (reply.status, reply.json()), (404, {"message": "Not Found"}))
        first = self.call("GET", "/categories/get")
        again = self.call("GET", "/categories/get", headers={"If-None-Match": first.headers["etag"]})
        expect_equal("the status of an unchanged category list", again.status, 304)

    def access(self):
        """Who is not let in."""
        head, claims, signature = self.tokens["buyer"].split(".")
        forged = f"{head}.{claims}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
        for name, event in EVENTS.items():
            if "authorization" not in event["headers"] or not needs_token(name, event):
                continue
            for kind, token in (("no", None), ("a forged", forged), ("a revoked", self.tokens["revoked"])):
                # pages/get reads no user.
                wanted = 200 if kind == "a revoked" and event["rawPath"] == "/pages/get" else 401
                reply = self.send(event, token)
                expect_equal(f"the status of {event['rawPath']} with {kind} token", reply.status, wanted)
        for caller, order, status, label in (
            ("anonymous", ORDER, 401, "error"), ("stranger", ORDER, 200, "forbidden"),
            ("anonymous", GUEST_ORDER, 200, "success"), ("anonymous", "nosuchorder", 200, "not_found"),
        ):
            reply = self.call("POST", "/payments/checkStatus", {"order_id": order}, self.tokens.get(caller))
            expect_equal(f"checkStatus of {order} for {caller}", (reply.status, reply.json()["status"]), (status, label))

        for code in ("the first of a window", "the second"):
            reply = self.call("POST", "/cart/acceptCoupon", {"coupon": code}, self.tokens["buyer"])
            told = (reply.status, reply.json()["success"], "retry-after" in reply.headers)
            expect_equal(f"an unknown code ({reply.text[:200]})", told, (200, False, False))

    def shop(self):
        """A player logs in by name, puts an item into the cart and finds it there after another login."""
        bought = {"server_id": 2, "count": 2}
        token = self.log_in("Deploy_Shopper")
        reply = self.call("POST", "/cart/add/402", bought, token)
        expect_equal(f"the status of cart/add ({reply.text[:200]})", reply.status, 200)
        expect_equal("whether the item was added", reply.json()["success"], True)
        cart = self.call("POST", "/cart/get", token=self.log_in("dEPLOY_sHOPPER"))
        expect_equal(f"the status of cart/get ({cart.text[:200]})", cart.status, 200)
        lines = [(line["cid"], line["id"], line["count"], line["selected_server"])
                 for line in cart.json()["items"]]
        expect_equal("the lines of the cart", lines, [(reply.json()["cid"], 402, bought["count"], bought["server_id"])])

    def log_in(self, name):
        """The token of a player who enters this name."""
        reply = self.call("POST", "/auth/username", {"username": name})
        expect_equal(f"the status of a login ({reply.text[:200]})", reply.status, 200)
        return reply.json()

    def limiter(self):
        """18 requests of an address pass in a window, the next one does not. The window was opened by the checks before."""
        left = None
        for _ in range(LIMIT + 1):
            reply = self.call("POST", "/payments/checkStatus", {"order_id": "nosuchorder"})
            if reply.status == 429:
                break
            now = int(reply.headers["ratelimit-remaining"])
            expect_equal("what a passed request says of the limit", reply.headers["ratelimit-limit"], str(LIMIT))
            expect(left is None or now == left - 1 or now == LIMIT - 1, f"{left} requests were left, then {now}")
            left = now
        expect_equal("the status of a request too many", reply.status, 429)
        expect_equal("what was left before it", left, 0)
        expect_equal("its label", reply.json()["status"], "error")
        expect(0 < int(reply.headers["retry-after"]) <= 60, "Retry-After is not within the window")

    def preflight(self, origin, allowed):
        """Whether a browser at `origin` may call; `allowed` is the value of Access-Control-Allow-Origin, or None."""
        reply = self.call("OPTIONS", "/cart/get", headers={
            "Origin": origin, "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type"})
        expect_equal(f"the allowed origin in a preflight from {origin}",
                     reply.headers.get("access-control-allow-origin"), allowed)
        if allowed:
            expect_equal("the methods", set(reply.headers["access-control-allow-methods"].split(",")), {"GET", "POST"})
            expect("authorization" in reply.headers["access-control-allow-headers"], "no tokens from a browser")
            expect_equal("credentials", reply.headers.get("access-control-allow-credentials"),
                         None if allowed == "*" else "true")
