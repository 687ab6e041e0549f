"""Judges our Stripe crate and the stand-in for Stripe by Stripe's own package.

    python .ci/provider/test.py     after `cargo build --workspace --all-targets`

The package's types name every parameter that the crate sends and every word that it reads. The package makes every call of
the crate at the stand-in, checks what comes back against its own classes, and verifies the stand-in's webhooks. So the two
cannot agree on something that Stripe does not speak.
"""

import json
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import stripe

sys.dont_write_bytecode = True

from shapes import (  # noqa: E402
    Wrong, check_expand, check_object, check_parameter, checked, equal, expect, get_args, hints, parameters, words,
)
from subscriptions import subscriptions  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "shared" / "stripe"
REQUESTS = ROOT / "target" / "debug" / "examples" / "requests"
STAND_IN = ROOT / "target" / "debug" / "stripe-stand-in"
KEY = "rk_test_judge"
Session, Configuration = stripe.checkout.Session, stripe.billing_portal.Configuration
# The calls, by method and path, with the class and its method in the package.
CALLS = {
    ("POST", "/v1/checkout/sessions"): (Session, "Create"),
    ("GET", "/v1/checkout/sessions"): (Session, "List"),
    ("GET", "/v1/checkout/sessions/*"): (Session, "Retrieve"),
    ("POST", "/v1/checkout/sessions/*/expire"): (Session, "Expire"),
    ("GET", "/v1/payment_intents/*"): (stripe.PaymentIntent, "Retrieve"),
    ("GET", "/v1/charges/*"): (stripe.Charge, "Retrieve"),
    ("GET", "/v1/disputes"): (stripe.Dispute, "List"),
    ("GET", "/v1/disputes/*"): (stripe.Dispute, "Retrieve"),
    ("POST", "/v1/disputes/*"): (stripe.Dispute, "Modify"),
    ("POST", "/v1/refunds"): (stripe.Refund, "Create"),
    ("GET", "/v1/refunds"): (stripe.Refund, "List"),
    ("GET", "/v1/events"): (stripe.Event, "List"),
    ("GET", "/v1/account"): (stripe.Account, "RetrieveCurrent"),
    ("GET", "/v1/balance"): (stripe.Balance, "Retrieve"),
    ("GET", "/v1/balance_transactions"): (stripe.BalanceTransaction, "List"),
    ("GET", "/v1/payment_method_configurations"): (stripe.PaymentMethodConfiguration, "List"),
    ("GET", "/v1/tax_codes/*"): (stripe.TaxCode, "Retrieve"),
    ("GET", "/v1/tax/settings"): (stripe.tax.Settings, "Retrieve"),
    ("POST", "/v1/webhook_endpoints"): (stripe.WebhookEndpoint, "Create"),
    ("POST", "/v1/webhook_endpoints/*"): (stripe.WebhookEndpoint, "Modify"),
    ("GET", "/v1/webhook_endpoints"): (stripe.WebhookEndpoint, "List"),
    ("DELETE", "/v1/webhook_endpoints/*"): (stripe.WebhookEndpoint, "Delete"),
    ("GET", "/v1/invoices"): (stripe.Invoice, "List"),
    ("GET", "/v1/invoices/*"): (stripe.Invoice, "Retrieve"),
    ("POST", "/v1/invoices/*/void"): (stripe.Invoice, "VoidInvoice"),
    ("GET", "/v1/invoice_payments"): (stripe.InvoicePayment, "List"),
    ("GET", "/v1/subscriptions/*"): (stripe.Subscription, "Retrieve"),
    ("POST", "/v1/subscriptions/*"): (stripe.Subscription, "Modify"),
    ("DELETE", "/v1/subscriptions/*"): (stripe.Subscription, "Cancel"),
    ("POST", "/v1/billing_portal/configurations"): (Configuration, "Create"),
    ("POST", "/v1/billing_portal/configurations/*"): (Configuration, "Modify"),
    ("GET", "/v1/billing_portal/configurations"): (Configuration, "List"),
    ("POST", "/v1/billing_portal/sessions"): (stripe.billing_portal.Session, "Create"),
}
# The crate's lists of words, and the field that they are read from. The package has no list for the two others.
WORDS = {
    "SessionStatus": (Session, "status"),
    "PaymentStatus": (Session, "payment_status"),
    "IntentStatus": (stripe.PaymentIntent, "status"),
    "DisputeStatus": (stripe.Dispute, "status"),
    "EventKind": (stripe.Event, "type"),
    "InvoiceStatus": (stripe.Invoice, "status"),
    "BillingReason": (stripe.Invoice, "billing_reason"),
    "SubscriptionStatus": (stripe.Subscription, "status"),
}
# The lists of which the crate has only a part.
PARTS = {"EventKind", "BillingReason"}
PLAIN_WORDS = {"RefundStatus", "EndpointStatus"}


def parameters_of_the_crate():
    """Every request of the crate has parameters that the package knows, with the right kind of value."""
    lines = subprocess.run([REQUESTS], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    seen, fields = set(), 0
    for request in map(json.loads, lines):
        url = urllib.parse.urlsplit(request["url"])
        equal("the host", url.netloc, "api.stripe.com")
        call = (request["method"], re.sub(r"/(cs|pi|ch|du|we|in|sub|bpc|txcd)_\w+", "/*", url.path))
        expect(call in CALLS, f"{call} is not a call of the package")
        seen.add(call)
        headers = request["headers"]
        equal("the version", headers["stripe-version"], stripe._api_version._ApiVersion.CURRENT)
        # A session of the portal is no longer valid after a few minutes: one more does no harm.
        creates = call[0] == "POST" and "*" not in call[1] and call[1] != "/v1/billing_portal/sessions"
        creates |= call == ("POST", "/v1/disputes/*")  # evidence is submitted once
        equal(f"the idempotency key of {call}", "idempotency-key" in headers, creates)
        kind, verb = CALLS[call]
        known = parameters(kind, verb)
        for name, value in urllib.parse.parse_qsl(request["body"] or url.query, keep_blank_values=True, strict_parsing=True):
            first, *keys = re.match(r"[^\[]+", name)[0], *re.findall(r"\[([^\]]*)\]", name)
            expect(first in known, f"{call}: {first} is not a parameter")
            check_parameter(first, keys, value, known[first])
            if first == "expand":
                check_expand(value, stripe.ListObject[kind] if verb == "List" else kind)
            fields += 1
    equal("the calls in examples/requests.rs", seen, set(CALLS))
    allowed = parameters(Session, "Create")["allowed_payment_method_types"]
    words = re.findall(r'(?:at_once|recurring|late)\("(\w+)"', (ROOT / "shared/src/rules/payment_methods.rs").read_text())
    expect(len(words) > 30, f"{len(words)} ways to pay")
    for word in ["card", *words]:
        check_parameter("allowed_payment_method_types", [""], word, allowed)
    declared = sum(source.read_text().count("-> Call<") for source in (CRATE / "src").glob("*.rs"))
    # A session is fetched by two of them: with its payment, or with its tax.
    equal("the number of calls in the crate", declared, len(CALLS) + 1)
    return f"{len(lines)} requests, {fields} fields"


def words_of_the_crate():
    """The words that the crate reads are the package's."""
    source = "".join(path.read_text() for path in sorted((CRATE / "src").glob("*.rs")) if path.name != "names.rs")
    lists = re.findall(r"^names! \{\n(?:    ///[^\n]*\n)*    (\w+) \{\n(.*?)^    \}$", source, re.M | re.S)
    found = {name: set(re.findall(r'= "([\w.]+)",', body)) for name, body in lists}
    equal("the lists of words", set(found), set(WORDS) | PLAIN_WORDS)
    for name, (kind, field) in WORDS.items():
        known = set(words(hints(kind)[field]))
        unknown = found[name] - known
        expect(not unknown, f"{name}: Stripe has no {unknown}")
        missing = known - found[name]
        expect(name in PARTS or not missing, f"{name} lacks {missing}")
    return f"{sum(map(len, found.values()))} words"


class Receiver:
    """An endpoint for webhooks."""

    def __init__(self):
        self.received = received = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.put((self.headers["Stripe-Signature"], body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self, secret):
        header, body = self.received.get(timeout=10)
        event = stripe.Webhook.construct_event(body, header, secret)
        checked(event, stripe.Event)
        return event, header, body


class Page:
    """The stand-in's pages."""

    def __init__(self, base):
        self.base = base

    def send(self, path, **fields):
        data = urllib.parse.urlencode(fields).encode()
        opener = urllib.request.build_opener(NoRedirect)
        try:
            with opener.open(self.base + path, data, timeout=10) as response:
                return response.status, None
        except urllib.error.HTTPError as response:
            return response.code, response.headers["Location"]

    def press(self, session, action, **fields):
        status, location = self.send(f"/c/pay/{session.id}", action=action, **fields)
        equal(f"the status of {action}", status, 303)
        return location


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def new_session(key, **other):
    lines = [{"quantity": 1, "price_data": {"currency": "eur", "unit_amount": 2500, "product_data": {"name": "Squire × 2"}}}]
    arguments = dict(mode="payment", client_reference_id="order", metadata={"order": "order"}, line_items=lines,
                     payment_intent_data={"metadata": {"order": "order"}}, adaptive_pricing={"enabled": False}, automatic_tax={"enabled": False},
                     success_url="http://127.0.0.1:1/flow?id={CHECKOUT_SESSION_ID}", cancel_url="http://127.0.0.1:1/back",
                     expires_at=EXPIRES)
    return Session.create(**{**arguments, **other}, idempotency_key=key)


EXPIRES = int(time.time()) + 3600


def payments(page):
    """Every state of a session, its payment, charge, refunds and disputes."""
    states = {
        "open": (["leave"], "open", "unpaid", None),
        "paid": (["pay"], "complete", "paid", "succeeded"),
        "declined": (["decline"], "open", "unpaid", "requires_payment_method"),
        "processing": (["delayed"], "complete", "unpaid", "processing"),
        "succeeded": (["delayed", "succeed"], "complete", "paid", "succeeded"),
        "failed": (["delayed", "fail"], "complete", "unpaid", "requires_payment_method"),
        "canceled": (["delayed", "cancel_payment"], "complete", "unpaid", "canceled"),
        "expired": (["expire"], "expired", "unpaid", None),
    }
    for name, (actions, status, paid, intent) in states.items():
        made = checked(new_session(f"state-{name}"), Session)
        for action in actions:
            page.send(f"/c/pay/{made.id}", action=action)
        session = checked(Session.retrieve(made.id, expand=["payment_intent.latest_charge"]), Session)
        found = session.payment_intent and session.payment_intent.status
        equal(name, (session.status, session.payment_status, found), (status, paid, intent))
        if intent:
            checked(session.payment_intent, stripe.PaymentIntent)
            checked(session.payment_intent.latest_charge, stripe.Charge)
    made = new_session("paid")
    equal("the return address", page.press(made, "pay"), f"http://127.0.0.1:1/flow?id={made.id}")
    intent = checked(stripe.PaymentIntent.retrieve(Session.retrieve(made.id).payment_intent), stripe.PaymentIntent)
    refund = stripe.Refund.create(payment_intent=intent.id, amount=500, metadata={"order": "order"}, idempotency_key="refund-0")
    equal("the refund", (checked(refund, stripe.Refund).amount, refund.status), (500, "succeeded"))
    page.press(made, "refund_part", amount=1)
    charge = checked(stripe.Charge.retrieve(intent.latest_charge), stripe.Charge)
    equal("what is refunded", (charge.amount_refunded, charge.refunded), (501, False))
    page.press(made, "fail_refund")
    listed = list(stripe.Refund.list(payment_intent=intent.id, limit=1).auto_paging_iter())
    for found in listed:
        checked(found, stripe.Refund)
    equal("the refunds", [(found.amount, found.status) for found in listed], [(1, "failed"), (500, "succeeded")])
    session = Session.retrieve(made.id, expand=["payment_intent.latest_charge.refunds"])
    charge = checked(session.payment_intent.latest_charge, stripe.Charge)
    equal("the refunds of the charge", [found.id for found in charge.refunds.data], [found.id for found in listed])
    equal("what is still refunded", charge.amount_refunded, 500)
    page.press(made, "warn_of_fraud")
    warning = stripe.Event.list(type="radar.early_fraud_warning.created", limit=1).data[0].data.object
    equal("the payment of the warning", checked(warning, type(warning)).payment_intent, intent.id)
    disputed = {
        "inquire": ("charge.dispute.created", "warning_needs_response"),
        "escalate": ("charge.dispute.updated", "needs_response"),
        "dispute_lost": ("charge.dispute.closed", "lost"),
    }
    for action, (kind, status) in disputed.items():
        page.press(made, action)
        event = stripe.Event.list(type=kind, limit=1).data[0]
        dispute = checked(stripe.Dispute.retrieve(event.data.object.id), stripe.Dispute)
        equal("the dispute", dispute.status, status)
    equal("the disputes", [found.id for found in stripe.Dispute.list(payment_intent=intent.id).data], [dispute.id])
    made = new_session("answered")
    page.press(made, "pay")
    page.press(made, "dispute")
    dispute = stripe.Dispute.list(payment_intent=Session.retrieve(made.id).payment_intent).data[0]
    equal("the evidence", (dispute.evidence_details.has_evidence, dispute.evidence_details.submission_count), (False, 0))
    staged = stripe.Dispute.modify(dispute.id, evidence={"service_date": "2026-11-27"}, submit=False)
    equal("the staged evidence", (checked(staged, stripe.Dispute).evidence_details.has_evidence, staged.status), (True, "needs_response"))
    sent = checked(stripe.Dispute.modify(dispute.id, evidence={"uncategorized_text": "played"}, submit=True), stripe.Dispute)
    equal("the submitted evidence", (sent.evidence_details.submission_count, sent.status, sent.evidence.service_date), (1, "under_review", "2026-11-27"))
    for _ in range(2):
        try:
            stripe.Dispute.modify(dispute.id, evidence={"uncategorized_text": "more"})
        except stripe.InvalidRequestError:
            page.press(made, "dispute_won") if _ == 0 else None
        else:
            raise Wrong("evidence is taken twice")
    expired = Session.expire(new_session("expire").id)
    equal("the expired session", checked(expired, Session).status, "expired")
    return f"{len(states)} states"


def lists_and_account():
    events = list(stripe.Event.list(created={"gte": EXPIRES - 3600}, limit=3).auto_paging_iter())
    expect(len(events) > 20 and len({event.id for event in events}) == len(events), f"{len(events)} events on all pages")
    for event in events:
        checked(event, stripe.Event)
        checked(event.data.object, type(event.data.object))
    equal("the newest event", checked(stripe.Event.retrieve(events[0].id), stripe.Event).type, events[0].type)
    checked(stripe.Account.retrieve(), stripe.Account)
    expect(not checked(stripe.Balance.retrieve(), stripe.Balance).livemode, "the balance is real money")
    ways = checked(stripe.PaymentMethodConfiguration.list().data[0], stripe.PaymentMethodConfiguration)
    expect(ways.is_default and ways.card.available, "cards are not offered")
    return f"{len(events)} events"


def webhooks(page, receiver):
    """The stand-in's signatures are verified by the package."""
    kinds = ["checkout.session.completed", "checkout.session.async_payment_succeeded", "checkout.session.expired"]
    endpoint = checked(stripe.WebhookEndpoint.create(url=receiver.url, enabled_events=kinds, description="Judge",
                                                     api_version=stripe.api_version), stripe.WebhookEndpoint)
    listed = stripe.WebhookEndpoint.list().data
    expect([found.id for found in listed] == [endpoint.id] and "secret" not in listed[0], "the endpoints that are listed")
    updated = checked(stripe.WebhookEndpoint.modify(endpoint.id, enabled_events=kinds[:2]), stripe.WebhookEndpoint)
    equal("the events of the endpoint", updated.enabled_events, kinds[:2])
    made = new_session("webhooks")
    page.press(made, "delayed")
    event, header, body = receiver.next(endpoint.secret)
    equal("the event", (event.type, event.data.object.id, event.api_version), (kinds[0], made.id, stripe.api_version))
    for other_body, secret in ((body + b" ", endpoint.secret), (body, "whsec_other")):
        try:
            stripe.Webhook.construct_event(other_body, header, secret)
        except stripe.SignatureVerificationError:
            continue
        raise Wrong("a wrong signature was accepted")
    page.send("/switches", twice="on")
    page.press(made, "succeed")
    first, second = (receiver.next(endpoint.secret)[0].id for _ in range(2))
    equal("the repeated event", first, second)
    page.send("/switches")
    expect(stripe.WebhookEndpoint.delete(endpoint.id).deleted, "the endpoint is deleted")
    return "signatures"


def raises(kind, call, code=None, param=None, status=None):
    try:
        call()
    except kind as error:
        expect(type(error) is kind, f"{type(error).__name__} in place of {kind.__name__}")
        body = (error.json_body or {}).get("error", {})
        found = (body.get("code"), body.get("param"), error.http_status)
        equal("code, parameter and status", found, (code, param, status))
        return error
    raise Wrong(f"{kind.__name__} was not raised")


def errors(page):
    """Refusals are the package's exceptions."""
    invalid = stripe.InvalidRequestError
    raises(invalid, lambda: Session.retrieve("cs_test_none"), "resource_missing", "session", 404)
    raises(invalid, lambda: new_session("e1", colour="red"), "parameter_unknown", "colour", 400)
    raises(invalid, lambda: new_session("e2", expires_at=EXPIRES - 3000), None, "expires_at", 400)
    raises(invalid, lambda: Session.create(success_url="http://127.0.0.1"), "parameter_missing", "mode", 400)
    raises(invalid, lambda: Session.expire(new_session("expire").id), None, None, 400)
    paid = new_session("e3")
    page.press(paid, "pay")
    page.press(paid, "refund")
    intent = Session.retrieve(paid.id).payment_intent
    raises(invalid, lambda: stripe.Refund.create(payment_intent=intent), "charge_already_refunded", None, 400)
    first = new_session("repeated")
    again = new_session("repeated")
    equal("the repeated session", again.id, first.id)
    equal("its header", again.last_response.headers.get("idempotent-replayed"), "true")
    raises(stripe.IdempotencyError, lambda: new_session("repeated", client_reference_id="other"), None, None, 400)
    for fault, kind, code, status in [
        ("402", stripe.CardError, "card_declined", 402), ("403", stripe.PermissionError, None, 403),
        ("409", stripe.APIError, "idempotency_key_in_use", 409), ("429", stripe.RateLimitError, "rate_limit", 429),
        ("500", stripe.APIError, None, 500), ("cut", stripe.APIConnectionError, None, None),
    ]:
        page.send("/faults", fault=fault)
        raises(kind, lambda: new_session(f"fault-{fault}"), code, None, status)
    error = raises(stripe.APIError, lambda: new_session("fault-500"), None, None, 500)
    equal("the replayed error", error.headers.get("idempotent-replayed"), "true")
    page.send("/faults", fault="after-cut")
    raises(stripe.APIConnectionError, lambda: new_session("lost"))
    equal("the lost session", new_session("lost").last_response.headers.get("idempotent-replayed"), "true")
    raises(stripe.AuthenticationError, lambda: stripe.Balance.retrieve(api_key="rk_test_other"), None, None, 401)
    raises(invalid, lambda: stripe.Balance.retrieve(stripe_version="2025-02-24.acacia"), None, None, 400)
    return "exceptions"


def methods():
    """Which methods a session offers; the words of older versions are refused."""
    card = {"allowed_payment_method_types": ["card"]}
    for asked, code, param in [
        ({"payment_method_types": ["card"]}, "parameter_unknown", "payment_method_types"),
        ({"ui_mode": "hosted"}, None, "ui_mode"),
        ({"allowed_payment_method_types": ["colour"]}, None, "allowed_payment_method_types[0]"),
        ({"excluded_payment_method_types": ["link"]}, None, "excluded_payment_method_types[0]"),
        ({**card, "excluded_payment_method_types": ["ideal"]}, None, "excluded_payment_method_types"),
        ({"allowed_payment_method_types": ["boleto"]}, None, None),
    ]:
        raises(stripe.InvalidRequestError, lambda: new_session("methods", **asked), code, param, 400)
    allowed, excluded = "allowed_payment_method_types", "excluded_payment_method_types"
    of_account = ["card", "paypal", "ideal", "klarna", "sepa_debit", "oxxo"]
    known = words(get_args(parameters(Session, "Create")[allowed])[0])
    for name, asked, offered in [
        (allowed, ["ideal", "card"], ["card", "ideal"]), (allowed, known, of_account),
        (excluded, ["card", "ideal"], [word for word in of_account if word not in ("card", "ideal")]),
        (excluded, [word for word in known if word not in ("card", "link")], ["card"]),
    ]:
        made = checked(new_session(f"methods-{name}-{len(asked)}", ui_mode="hosted_page", **{name: asked}), Session)
        equal("the methods", (made.payment_method_types, made[name]), (offered, asked))
    return f"{len(known)} words"


def taxes(page):
    """Tax in the price and on top of it, once and for subscriptions, and what a seller of its own refuses."""
    def asked(behavior, code="txcd_10201000", recurring=None):
        price = {"currency": "eur", "unit_amount": 2500, "tax_behavior": behavior, "product_data": {"name": "Squire", "tax_code": code}}
        if recurring:
            price["recurring"] = recurring
        return {"line_items": [{"quantity": 1, "price_data": price}]}

    of = {"automatic_tax": {"enabled": True}}
    for behavior, action, total, tax in [("inclusive", "pay", 2500, 399), ("exclusive", "from_FR", 3000, 500), ("exclusive", "from_US", 2500, 0)]:
        made = checked(new_session(f"tax-{behavior}-{action}", **of, **asked(behavior)), Session)
        page.press(made, action)
        paid = checked(Session.retrieve(made.id, expand=["total_details.breakdown", "payment_intent"]), Session)
        equal("the tax", (paid.amount_total, paid.total_details.amount_tax, paid.payment_intent.amount), (total, tax, total))
        equal("its parts", sum(part.amount for part in paid.total_details.breakdown.taxes), tax)
        for part in paid.total_details.breakdown.taxes:
            checked(part.rate, stripe.TaxRate)
    other = {"mode": "subscription", "payment_intent_data": None, "subscription_data": {"metadata": {"order": "order"}}}
    made = new_session("tax-subscription", **other, **of, **asked("exclusive", recurring={"interval": "month"}))
    page.press(made, "pay")
    invoice = checked(stripe.Invoice.retrieve(Session.retrieve(made.id).invoice), stripe.Invoice)
    equal("the invoice", (invoice.amount_paid, invoice.total_taxes[0].amount, invoice.customer_address.country), (2975, 475, "DE"))
    own = {"managed_payments": {"enabled": True}, "adaptive_pricing": None, "automatic_tax": None}
    sold = checked(new_session("managed", **own, **asked("inclusive")), Session)
    expect(sold.managed_payments.enabled, "it is not sold by Stripe")
    invalid, product = stripe.InvalidRequestError, "line_items[0][price_data][product_data][tax_code]"
    for refused, param in [({"automatic_tax": {"enabled": True}}, "automatic_tax"), ({"adaptive_pricing": {"enabled": False}}, "adaptive_pricing"),
                           ({"allowed_payment_method_types": ["card"]}, "allowed_payment_method_types")]:
        raises(invalid, lambda: new_session("managed-not", **{**own, **refused}, **asked("inclusive")), None, param, 400)
    raises(invalid, lambda: new_session("tax-code", **of, **asked("inclusive", "txcd_99999998")), None, product, 400)
    raises(invalid, lambda: stripe.TaxCode.retrieve("txcd_99999998"), "resource_missing", "id", 404)
    checked(stripe.TaxCode.retrieve("txcd_10201000"), stripe.TaxCode)
    equal("the settings", checked(stripe.tax.Settings.retrieve(), stripe.tax.Settings).status, "active")
    return "inclusive, exclusive, managed"


def planted_faults():
    """What Stripe does not speak is found, though the package takes any text for a word."""
    call, made = parameters(Session, "Create"), new_session("planted").to_dict(for_json=True)
    words_of_methods = call["allowed_payment_method_types"]
    check_parameter("methods", ["0"], "card", words_of_methods)
    check_object(made, Session)
    faults = [
        lambda: check_parameter("mode", [], "nonsense", call["mode"]),
        lambda: check_parameter("methods", ["0"], "colour", words_of_methods),
        lambda: check_parameter("adaptive_pricing", ["colour"], "true", call["adaptive_pricing"]),
        lambda: expect("payment_method_types" in call, "payment_method_types is not a parameter"),
        lambda: check_expand("invoice.payment_intent", Session),
        lambda: check_object({**made, "status": "resting"}, Session),
        lambda: check_object({**made, "shipping_details": None}, Session),
        lambda: check_object({**made, "automatic_tax": {"enabled": False, "colour": None}}, Session),
        lambda: check_object({name: value for name, value in made.items() if name != "livemode"}, Session),
        lambda: check_object({**made, "metadata": {"order": 1}}, Session),
    ]
    for number, fault in enumerate(faults):
        try:
            fault()
        except Wrong:
            continue
        raise Wrong(f"planted fault {number} was not found")
    return f"{len(faults)} faults"


def main():
    stand_in = subprocess.Popen([STAND_IN, "--key", KEY], stdout=subprocess.PIPE, text=True)
    try:
        stripe.api_base = stand_in.stdout.readline().strip()
        stripe.api_key = KEY
        stripe.api_version = stripe._api_version._ApiVersion.CURRENT
        stripe.max_network_retries = 0
        page = Page(stripe.api_base)
        steps = [("planted", planted_faults), ("parameters", parameters_of_the_crate), ("words", words_of_the_crate), ("payments", lambda: payments(page)),
                 ("subscriptions", lambda: subscriptions(page, Receiver(), new_session)), ("lists", lists_and_account),
                 ("webhooks", lambda: webhooks(page, Receiver())), ("methods", methods), ("taxes", lambda: taxes(page)), ("errors", lambda: errors(page))]
        for name, step in steps:
            print(f"ok   {name}: {step()}", flush=True)
    except Wrong as error:
        sys.exit(f"FAIL {name}: {error}")
    finally:
        stand_in.terminate()
        stand_in.wait()


if __name__ == "__main__":
    main()
