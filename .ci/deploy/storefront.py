"""The black-box core: what buyers do, over HTTP, against the deployed functions. Shapes are those of api.md; the exact
responses are tested in tests/, which run the same handlers."""

import http.client
import json
import re
import urllib.parse
from pathlib import Path

from checks import expect, expect_equal

EVENTS = Path(__file__).resolve().parents[2] / "events"
ITEM = {"id", "name", "price", "discount", "active", "is_subs", "quantityGlobalLimit", "quantityUserLimit",
        "is_unavailable", "virtual_price", "is_virtual_currency_only", "image"}
# Method, path, body, the caller (None: anonymous), and the fields that the answer or its first entry must have. Every other
# route is called as its event file says.
ENDPOINTS = [
    ("POST", "/pages/get", {"url": "rules"}, "buyer", {"success", "page"}),
    ("GET", "/auth/chat", None, None, {"success", "url"}),
    ("POST", "/cart/acceptCoupon", {"coupon": " Welcome10 "}, "buyer",
     {"success", "message", "percent", "amount", "sum", "type"}),
    ("POST", "/cart/removeCoupon", None, "buyer", {"success", "message"}),
    ("POST", "/cart/acceptCoupon", {"coupon": " Welcome10 "}, "buyer",
     {"success", "message", "percent", "amount", "sum", "type"}),
    ("POST", "/cart/setReferral", {"ref_code": "lantern"}, "buyer", {"success", "message"}),
    ("POST", "/payments/checkStatus", {"order_id": "deploytestorder1"}, "buyer", {"status", "message", "order_data"}),
    ("POST", "/categories/get/ranks", None, "buyer", {"category", "subcategories"}),
    ("POST", "/items/getFeaturedDeals", None, "buyer", ITEM | {"original_price", "description", "in_cart"}),
    ("POST", "/items/getFeaturedDeals", None, None, ITEM | {"original_price", "description", "in_cart"}),
    ("POST", "/items/get/103", None, "buyer", ITEM | {"original_price", "gifting", "is_subs_only", "in_cart"}),
    ("POST", "/cart/get", None, "buyer", {"cart", "items"}),
    ("POST", "/cart/getPromoted", None, "buyer", {"id", "name", "image", "original_price", "price", "is_subs"}),
    ("POST", "/cart/getSelectServers", None, "buyer", {"401"}),
    ("POST", "/cart/removeReferral", None, "buyer", {"success", "message"}),
    # Line 5; the lines before it are those that the owner added.
    ("POST", "/cart/add/301", {"payment_type": 0, "promoted": 0}, "buyer", {"success", "message", "cid"}),
    ("POST", "/cart/setVariable/5", {"var_id": 2, "var_value": "Ash"}, "buyer", {"success"}),
    ("POST", "/cart/setSelectedServer/3", {"server_id": 1}, "buyer", {"success"}),
    ("POST", "/cart/changePrice/4", {"price": "4.50"}, "buyer", {"success"}),
    ("POST", "/cart/reload/3", {"count": 2}, "buyer", {"success"}),
    ("POST", "/cart/remove/1", None, "buyer", {"success", "message"}),
    ("POST", "/user", None, "buyer", {"id", "username", "avatar", "system", "identificator", "uuid", "created_at",
                                      "updated_at", "virtual_currency"}),
    ("POST", "/auth/username", {"username": "Deploy_Tester"}, None, set()),
    ("GET", "/checkAccessibility", None, "buyer", {"success"}),
    ("GET", "/categories/get", None, None, {"idx", "name", "active", "description", "url", "img", "subcategories"}),
    ("POST", "/categories/get", None, None, {"idx", "name", "active", "description", "url", "img", "subcategories"}),
    ("GET", "/staff", None, None, set()),
    ("GET", "/settings/get", None, None, {"auth_type", "header", "footer", "website_name", "website_description",
                                          "server", "goals", "top", "recentDonators", "chat_url", "is_ref", "chat_sync",
                                          "socials", "system_currency", "currencies", "languages", "system_language"}),
    ("GET", "/patrons/get", None, None, {"success", "currency_code", "description", "top_patrons", "patrons"}),
    ("GET", "/announcement/get", None, None, {"id", "title", "content", "button_name", "button_url", "created_at",
                                              "updated_at", "is_index"}),
    ("GET", "/profile/Deploy_Tester", None, None, {"username", "uuid", "created", "items", "money_spent", "status"}),
    # The store has no gift cards: it is counted as an unknown code.
    ("POST", "/cart/getGift", {"gift": "no-such-card"}, None, {"status", "message"}),
    ("POST", "/capture-referral", {"ref": "lantern"}, None, {"success", "attribution_applied", "message"}),
]
# Refused without a token, with a forged one, and (all but the first, which reads no user) with a revoked one.
PROTECTED = ["/pages/get", "/cart/acceptCoupon", "/cart/setReferral", "/cart/removeReferral", "/cart/get",
             "/cart/add/301", "/cart/setVariable/5", "/cart/setSelectedServer/3", "/cart/changePrice/4", "/cart/reload/3",
             "/cart/remove/1", "/cart/removeCoupon", "/cart/removeGiftcard", "/items/get/103",
             "/cart/getPromoted", "/cart/getSelectServers", "/user", "/categories/get/ranks"]
LIMIT = 18


def uncalled(seen):
    """The success of every route of the event files that is not among the calls `seen`, each a method and a path."""
    files = (file for file in sorted(EVENTS.glob("*/*.json")) if "." not in file.stem)
    events = {event["routeKey"]: event for event in map(json.loads, (file.read_text() for file in files))}

    def is_seen(route):
        pattern = "/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in route.split("/"))
        return any(re.fullmatch(pattern, call) for call in seen)

    return [event for route, event in events.items() if route != "$default" and not is_seen(route)]


class Reply:
    def __init__(self, answer):
        self.status = answer.status
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        self.text = answer.read().decode()

    def json(self):
        return json.loads(self.text)


class Storefront:
    """A deployed API, called as its clients call it."""

    def __init__(self, url, tokens=None, port=None, server_key=None):
        """`port`: of an emulator on this machine, which finds the API by the name of the host. `server_key`: of a game server."""
        self.url = urllib.parse.urlsplit(url)
        self.host = self.url.netloc
        self.port = port
        self.tokens = tokens or {}
        self.server_key = server_key

    def _connection(self):
        if self.port:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        return kind(self.host, timeout=30)

    def call(self, method, path, body=None, token=None, headers=(), raw=None):
        """`body` is sent as JSON, `raw` unchanged."""
        sent = {"Host": self.host, **dict(headers)}
        data = raw if body is None else json.dumps(body)
        if data is not None:
            sent["Content-Type"] = "application/json"
        if token:
            sent["Authorization"] = f"Bearer {token}"
        connection = self._connection()
        try:
            connection.request(method, self.url.path.rstrip("/") + path, data, sent)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def done(self, path, body, token):
        """A POST that has to succeed."""
        reply = self.call("POST", path, body, token)
        expect(reply.status == 200 and reply.json()["success"] is True, f"{path}: {reply.status} {reply.text[:200]}")
        return reply.json()

    def still_serves(self):
        """As every_endpoint, but for the one that is limited."""
        for method, path, body, caller, _ in ENDPOINTS:
            if path != "/payments/checkStatus":
                reply = self.call(method, path, body, self.tokens.get(caller))
                expect_equal(f"the status of {method} {path} ({reply.text[:200]})", reply.status, 200)

    def every_endpoint(self):
        """One success of each."""
        seen = set()
        for method, path, body, caller, fields in ENDPOINTS:
            reply = self.call(method, path, body, self.tokens.get(caller))
            where = f"{method} {path} as {caller or 'an anonymous caller'}"
            expect_equal(f"the status of {where} ({reply.text[:200]})", reply.status, 200)
            answer = reply.json()
            expect(answer, f"the response to {where} is empty")
            record = answer[0] if isinstance(answer, list) else answer
            expect(fields <= set(record), f"{where} lacks {sorted(fields - set(record))}")
            expect(not isinstance(record, dict) or record.get("success", True) is True, f"{where}: {reply.text[:200]}")
            seen.add(f"{method} {path}")
        gift = self.call("POST", "/cart/removeGiftcard", token=self.tokens["buyer"])
        expect_equal("the removal of a gift card that is not there", (gift.status, gift.json()["success"]), (200, False))
        seen.add("POST /cart/removeGiftcard")
        self.chat_callback()
        seen.add("GET /auth/chat/callback")
        seen |= self.no_payments()
        for event in uncalled(seen):
            self.event(event)
        cart = self.call("POST", "/cart/get", token=self.tokens["buyer"]).json()
        expect_equal("the code on the cart", cart["cart"]["coupon_code"].lower(), "welcome10")
        expect(cart["cart"]["coupon_sum"] > 0 and cart["items"], "the coupon takes nothing off")
        order = self.call("POST", "/payments/checkStatus", {"order_id": "deploytestorder1"}, self.tokens["buyer"])
        expect_equal("the state of the order", order.json()["order_data"]["status"], "PAID")

    def no_payments(self):
        """Without the parameter Payments there is no method, and no webhook event is believed."""
        methods = self.call("POST", "/payments/get", token=self.tokens["buyer"])
        expect_equal("the payment methods", (methods.status, methods.json()), (200, []))
        body = {"paymentMethod": "Stripe", "termsAndConditions": True, "privacyPolicy": True}
        begun = self.call("POST", "/payments/create", body, self.tokens["buyer"])
        expect_equal("a checkout", (begun.status, begun.json()["success"]), (200, False))
        event = self.call("POST", "/payments/webhook/stripe", {}, headers=[("Stripe-Signature", "t=1,v1=00")])
        expect_equal("a webhook event", event.status, 400)
        return {"POST /payments/get", "POST /payments/create", "POST /payments/webhook/stripe"}

    def chat_callback(self):
        """Without a login that was begun, it is a page that says what is missing: no platform is called."""
        reply = self.call("GET", "/auth/chat/callback?code=x&state=y")
        expect_equal("the chat callback", (reply.status, reply.headers["content-type"]), (400, "text/html; charset=utf-8"))
        return reply.text

    def event(self, event):
        """The call of an event file, by the buyer if it has a token, with this store's key if it has a game server's: the status
        is that of the file."""
        method = event["requestContext"]["http"]["method"]
        path = re.sub(r"/\d+-[0-9a-f]{40}/", f"/{self.server_key}/", event["rawPath"])
        has_token = any(name.lower() == "authorization" for name in event["headers"])
        body = json.loads(event["body"]) if event.get("body") else None
        reply = self.call(method, path, body, self.tokens["buyer"] if has_token else None)
        expect_equal(f"the status of {method} {path} ({reply.text[:200]})", reply.status, event["expected"]["status"])
        if has_token:
            forged = self.call(method, path, body, "a.b.c")
            expect_equal(f"the status of {method} {path} with a token that is not valid", forged.status, 401)

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
        body = {"url": "rules", "coupon": "x", "ref_code": "x"}
        for path in PROTECTED:
            for kind, token in (("no", None), ("a forged", forged), ("a revoked", self.tokens["revoked"])):
                wanted = 200 if kind == "a revoked" and path == "/pages/get" else 401
                reply = self.call("POST", path, body, token)
                expect_equal(f"the status of {path} with {kind} token", reply.status, wanted)
        for caller, order, status, label in (
            ("anonymous", "deploytestorder1", 401, "error"), ("stranger", "deploytestorder1", 200, "forbidden"),
            ("anonymous", "deploytestorder2", 200, "success"), ("anonymous", "nosuchorder", 200, "not_found"),
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
