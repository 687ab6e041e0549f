"""A purchase as a storefront makes it: login, cart, checkout, and the state of the order. And the stand-in for Stripe, at
which a test pays as a buyer does, on the page of the checkout."""

import hashlib
import hmac
import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from checks import Failed, expect, expect_equal

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = ROOT / "target" / "debug" / "stripe-stand-in"
# The version of Stripe's API that the stand-in speaks.
VERSION = "2026-09-30.endive"
AGREED = {"paymentMethod": "Stripe", "currency": "EUR", "termsAndConditions": True, "privacyPolicy": True}


def test_key(text, origin):
    """A key of Stripe's test mode. Any other is refused before it is used, and never shown."""
    expect(re.fullmatch(r"[rs]k_test_\w+", text.strip()),
           f"{origin} has no test key of Stripe: one begins with rk_test_ or sk_test_. A live key is never taken.")
    return text.strip()


class Checkout:
    """A checkout that began: its order, the page to pay on, and the provider's session."""

    def __init__(self, reply):
        self.order, self.page = reply["order_id"], reply["data"]["url"]
        found = re.search(r"cs_\w+", self.page)
        expect(found, f"{self.page} is not a page to pay on")
        self.session = found[0]


class Shopper:
    """A player who logs in by name and buys."""

    def __init__(self, storefront, name):
        self.storefront = storefront
        self.name = name
        self.token = storefront.log_in(name)

    def _done(self, path, body):
        return self.storefront.done(path, body, self.token)

    def add(self, item, variables=None, **body):
        """Puts an item into the cart, with a value for each of its variables."""
        line = self._done(f"/cart/add/{item}", {"payment_type": 0, "promoted": 0, **body})["cid"]
        for variable, value in (variables or {}).items():
            self._done(f"/cart/setVariable/{line}", {"var_id": variable, "var_value": value})

    def use_code(self, code):
        self._done("/cart/acceptCoupon", {"coupon": code})

    def methods(self):
        reply = self.storefront.call("POST", "/payments/get", token=self.token)
        expect_equal(f"the status of payments/get ({reply.text[:200]})", reply.status, 200)
        return [method["name"] for method in reply.json()]

    def check_out(self):
        return Checkout(self._done("/payments/create", AGREED))

    def status(self, checkout):
        """What checkStatus says after the buyer's return: its label, and the order's status."""
        body = {"order_id": checkout.order, "checkout_id": checkout.session}
        reply = self.storefront.call("POST", "/payments/checkStatus", body, self.token)
        if reply.status == 429:
            time.sleep(int(reply.headers["retry-after"]))
            reply = self.storefront.call("POST", "/payments/checkStatus", body, self.token)
        expect_equal(f"the status of checkStatus ({reply.text[:200]})", reply.status, 200)
        return reply.json()["status"], reply.json()["order_data"]["status"]

    def wait_until_paid(self, checkout, seconds):
        """Asks every five seconds, until the payment has ended."""
        until = time.monotonic() + seconds
        while True:
            found = self.status(checkout)
            if found != ("pending", "PENDING"):
                return found
            if time.monotonic() > until:
                raise Failed(f"the order {checkout.order} is not paid after {seconds} seconds")
            time.sleep(5)

    def cart(self):
        reply = self.storefront.call("POST", "/cart/get", token=self.token)
        expect_equal(f"the status of cart/get ({reply.text[:200]})", reply.status, 200)
        return reply.json()["cart"] | {"items": reply.json()["items"]}


class StandIn:
    """The stand-in for Stripe while it runs."""

    def __init__(self, key):
        self.key = key

    def __enter__(self):
        self.process = subprocess.Popen([STAND_IN, "--key", self.key], stdout=subprocess.PIPE, text=True)
        self.base = self.process.stdout.readline().strip()
        expect(self.base, "the stand-in for Stripe did not start")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)

    def press(self, checkout, action, **fields):
        """A button of the page. Returns the address to which the buyer is sent."""
        form = urllib.parse.urlencode({"action": action, **fields}).encode()
        try:
            with urllib.request.build_opener(NoRedirect).open(checkout.page, form, timeout=10) as response:
                raise Failed(f"{action}: the page says {response.read().decode()[:500]}")
        except urllib.error.HTTPError as response:
            expect_equal(f"the status of {action}", response.code, 303)
            return response.headers["Location"]

    def events(self, kind):
        """The events of a kind, newest first."""
        request = urllib.request.Request(f"{self.base}/v1/events?type={kind}", headers={
            "Authorization": f"Bearer {self.key}", "Stripe-Version": VERSION})
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)["data"]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def deliver(storefront, event, secret, at=None):
    """Posts an event to the webhook, signed as Stripe signs. Returns the reply."""
    body = json.dumps(event, indent=2)
    at = int(time.time()) if at is None else at
    signature = hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest()
    headers = {"Stripe-Signature": f"t={at},v1={signature}"}
    return storefront.call("POST", "/payments/webhook/stripe", headers=headers, raw=body)
