"""Subscriptions at the stand-in: every call and every state, by Stripe's own package."""

import time

import stripe

from shapes import Wrong, checked, equal, expect

KINDS = ["invoice.paid", "invoice.payment_failed", "customer.subscription.created", "customer.subscription.updated",
         "customer.subscription.deleted"]


def recurring(**interval):
    """The parameters that make a session one of a subscription; without an interval, of none."""
    line = {"quantity": 1, "price_data": {"currency": "eur", "unit_amount": 2500, "product_data": {"name": "Squire"}}}
    if interval:
        line["price_data"]["recurring"] = interval
    return dict(mode="subscription", line_items=[line], payment_intent_data=None,
                subscription_data={"metadata": {"order": "order"}})


def period(subscription):
    """The present period, which is that of each item."""
    found, = {(item.current_period_start, item.current_period_end) for item in subscription["items"].data}
    return found


def intent_of(invoice):
    """The payment of an invoice, with its charge."""
    paid, = stripe.InvoicePayment.list(invoice=invoice.id, expand=["data.payment.payment_intent"]).data
    intent = checked(paid, stripe.InvoicePayment).payment.payment_intent
    of_intent = stripe.InvoicePayment.list(payment={"type": "payment_intent", "payment_intent": intent.id}, status=paid.status)
    equal("the invoice of a payment", [found.invoice for found in of_intent.data], [invoice.id])
    return checked(stripe.PaymentIntent.retrieve(intent.id, expand=["latest_charge.refunds"]), stripe.PaymentIntent)


class Store:
    def __init__(self, page, receiver, new_session):
        self.page, self.receiver, self.new_session = page, receiver, new_session
        self.endpoint = stripe.WebhookEndpoint.create(url=receiver.url, enabled_events=KINDS)

    def posted(self, *wanted):
        """The next events that are posted; their signatures and objects are checked."""
        events = [self.receiver.next(self.endpoint.secret)[0] for _ in wanted]
        equal("the events", [event.type for event in events], [next(kind for kind in KINDS if kind.endswith(end)) for end in wanted])
        for event in events:
            checked(event.data.object, stripe.Invoice if event.type.startswith("invoice.") else stripe.Subscription)
        return [event.data.object for event in events]

    def subscribe(self, key, **other):
        made = self.new_session(key, **{**recurring(interval="month"), **other})
        equal("the open session", (made.mode, made.subscription, made.invoice), ("subscription", None, None))
        checked(made, stripe.checkout.Session)
        self.page.press(made, "pay")
        self.posted("created", "paid", "updated")
        session = stripe.checkout.Session.retrieve(made.id, expand=["invoice.payments"])
        return checked(session, stripe.checkout.Session)

    def state(self, session):
        found = checked(stripe.Subscription.retrieve(session.subscription), stripe.Subscription)
        return found.status, found.cancel_at_period_end, found.cancel_at


def subscriptions(page, receiver, new_session):
    store = Store(page, receiver, new_session)
    session = store.subscribe("subscription")
    invoice, intent = session.invoice, intent_of(session.invoice)
    equal("the first invoice", (invoice.status, invoice.billing_reason, invoice.amount_paid), ("paid", "subscription_create", 2500))
    paid = [(found.status, found.amount_paid, found.payment.payment_intent) for found in invoice.payments.data]
    equal("the payments", (paid, intent.status, intent.latest_charge.amount), ([("paid", 2500, intent.id)], "succeeded", 2500))
    equal("the order", invoice.parent.subscription_details.metadata.order, "order")
    checked(stripe.Customer.retrieve(session.customer), stripe.Customer)
    subscription = checked(stripe.Subscription.retrieve(session.subscription), stripe.Subscription)
    equal("the period", invoice.lines.data[0].period.end, period(subscription)[1])
    equal("the billing mode", subscription.billing_mode.type, "flexible")
    renewals(store, session, subscription)
    cancellations(store, session)
    states(store)
    portal(store, session)
    refusals(new_session)
    stripe.WebhookEndpoint.delete(store.endpoint.id)
    return f"{len(list(stripe.Subscription.list(status='all', limit=1).auto_paging_iter()))} subscriptions"


def renewals(store, session, before):
    store.page.press(session, "renew")
    after, paid = store.posted("updated", "paid")
    equal("the next period", (period(after)[0], paid.billing_reason), (period(before)[1], "subscription_cycle"))
    equal("what it pays", paid.lines.data[0].period.end, period(after)[1])
    store.page.press(session, "fail_renewal")
    _, failed, after = store.posted("updated", "payment_failed", "updated")
    equal("the failed renewal", (failed.status, failed.amount_remaining, after.status), ("open", 2500, "past_due"))
    equal("its payment", intent_of(failed).status, "requires_payment_method")
    store.page.press(session, "recover")
    recovered, after = store.posted("paid", "updated")
    equal("the recovered renewal", (recovered.id, recovered.status, after.status), (failed.id, "paid", "active"))
    paid = list(stripe.Invoice.list(subscription=session.subscription, status="paid", limit=1).auto_paging_iter())
    equal("the paid invoices", [found.id for found in paid][:1] + [paid[-1].id, len(paid)], [recovered.id, session.invoice.id, 3])
    store.page.send(f"/invoices/{recovered.id}", action="refund_part", amount=100)
    found = stripe.Invoice.retrieve(recovered.id, expand=["payments.data.payment.payment_intent"])
    charge = intent_of(checked(found, stripe.Invoice)).latest_charge
    equal("the refund of a renewal", (charge.amount_refunded, [found.amount for found in charge.refunds.data]), (100, [100]))


def cancellations(store, session):
    id = session.subscription
    for ends in (True, False, True):
        updated = checked(stripe.Subscription.modify(id, cancel_at_period_end=ends), stripe.Subscription)
        equal("whether it ends", updated.cancel_at_period_end, ends)
        store.posted("updated")
    store.page.press(session, "end_period")
    ended, = store.posted("deleted")
    equal("the end", (ended.status, ended.ended_at), ("canceled", period(updated)[1]))
    again = store.subscribe("subscription-2", customer=session.customer)
    equal("the customer", again.customer, session.customer)
    equal("what ended", checked(stripe.Subscription.cancel(again.subscription), stripe.Subscription).status, "canceled")
    store.posted("deleted")
    unpaid = store.subscribe("subscription-3")
    store.page.press(unpaid, "fail_renewal")
    store.posted("updated", "payment_failed", "updated")
    store.page.press(unpaid, "give_up")
    equal("the reason", store.posted("deleted")[0].cancellation_details.reason, "payment_failed")


def states(store):
    """Every state that the account's owner can make in the dashboard, and the invoices that are voided."""
    session = store.subscribe("states")
    id, now = session.subscription, int(time.time())
    paused = checked(stripe.Subscription.modify(id, pause_collection={"behavior": "void"}), stripe.Subscription)
    equal("the pause", (paused.status, paused.pause_collection.behavior, paused.pause_collection.resumes_at), ("active", "void", None))
    store.posted("updated")
    store.page.press(session, "unpause")
    equal("without a pause", store.posted("updated")[0].pause_collection, None)
    trial = checked(stripe.Subscription.modify(id, trial_end=now + 864000), stripe.Subscription)
    equal("the trial", (trial.status, trial.trial_end, period(trial)[1]), ("trialing", now + 864000, now + 864000))
    _, invoice = store.posted("updated", "paid")
    equal("the invoice of the trial", (invoice.billing_reason, invoice.amount_paid), ("subscription_update", 0))
    ends = checked(stripe.Subscription.modify(id, cancel_at=now + 8640000), stripe.Subscription)
    equal("the end on a day", (ends.cancel_at, ends.cancel_at_period_end), (now + 8640000, False))
    store.posted("updated")
    store.page.press(session, "resume")
    equal("no end", store.posted("updated")[0].cancel_at, None)
    store.page.press(session, "pause_trial")
    equal("a trial without a card", store.posted("updated")[0].status, "paused")
    unpaid = store.subscribe("states-2")
    store.page.press(unpaid, "fail_renewal")
    failed = store.posted("updated", "payment_failed", "updated")[1]
    store.page.press(unpaid, "mark_unpaid")
    equal("the unpaid one", store.posted("updated")[0].status, "unpaid")
    void = checked(stripe.Invoice.void_invoice(failed.id), stripe.Invoice)
    equal("the void invoice", (void.status, void.amount_paid, intent_of(failed).status), ("void", 0, "canceled"))
    for call in (lambda: stripe.Invoice.void_invoice(failed.id), lambda: stripe.Invoice.void_invoice(unpaid.invoice.id),
                 lambda: stripe.Subscription.modify(id, trial_end=now - 5)):
        try:
            call()
        except stripe.InvalidRequestError as error:
            equal("the status of a refusal", error.http_status, 400)
        else:
            raise Wrong("a call was not refused")
    open_session = store.new_session("states-3", **recurring(interval="month"))
    store.page.press(open_session, "leave_unconfirmed")
    equal("the first payment", store.posted("created")[0].status, "incomplete")
    equal("its session", stripe.checkout.Session.retrieve(open_session.id).status, "open")
    store.page.press(open_session, "pay")
    equal("once it is confirmed", store.posted("paid", "updated")[1].status, "active")


def portal(store, session):
    configuration = stripe.billing_portal.Configuration
    cancel = {"subscription_cancel": {"enabled": True, "mode": "at_period_end"}}
    made = checked(configuration.create(features={**cancel, "subscription_update": {"enabled": False}}), configuration)
    default = checked(configuration.list(is_default=True).data[0], configuration)
    equal("the default", (made.is_default, default.is_default, default.active), (False, True, True))
    changed = configuration.modify(default.id, features=cancel, login_page={"enabled": True}, active=True)
    expect(checked(changed, configuration).login_page.url, "the page to log in has no address")
    buyer = store.subscribe("subscription-4", customer=session.customer)
    opened = stripe.billing_portal.Session.create(customer=buyer.customer, return_url="http://127.0.0.1:1/account")
    checked(opened, stripe.billing_portal.Session)
    path = opened.url.removeprefix(stripe.api_base)
    ends_at = period(stripe.Subscription.retrieve(buyer.subscription))[1]
    for action, cancel_at in (("cancel", ends_at), ("resume", None)):
        status, _ = store.page.send(path, action=action, subscription=buyer.subscription)
        equal("the portal", (status, store.state(buyer)), (303, ("active", False, cancel_at)))
        store.posted("updated")


def refusals(new_session):
    month = recurring(interval="month")
    once = recurring()
    for key, parameters, param in [
        ("intent", {**month, "payment_intent_data": {"metadata": {}, "description": "x"}}, "payment_intent_data[description]"),
        ("intent-2", {**month, "payment_intent_data": {"metadata": {"order": "order"}}}, "payment_intent_data"),
        ("once", once, "line_items"),
        ("payment", {**month, "mode": "payment", "subscription_data": None}, "line_items[0]"),
        ("data", {**once, "mode": "payment"}, "subscription_data"),
        ("long", recurring(interval="year", interval_count=4), "line_items[0][price_data][recurring][interval_count]"),
        ("customer", {**month, "customer": "cus_none"}, "customer"),
    ]:
        try:
            new_session(f"refused-{key}", **parameters)
        except stripe.InvalidRequestError as error:
            equal(f"the parameter of {key}", (error.param, error.http_status), (param, 400))
        else:
            raise Wrong(f"{key} was not refused")
    for call, path, text in [
        (stripe.checkout.Session.list, "data.invoice.payments.data.payment", "more than 4 levels"),
        (stripe.checkout.Session.list, "data.invoice.payment_intent.latest_charge", "cannot be expanded"),
        (stripe.Invoice.list, "data.payment_intent.latest_charge", "cannot be expanded"),
        (lambda **other: stripe.PaymentIntent.retrieve("pi_none", **other), "invoice", "cannot be expanded"),
    ]:
        try:
            call(expand=[path])
        except stripe.InvalidRequestError as error:
            expect(text in str(error), f"{error}")
        else:
            raise Wrong(f"{path} was expanded")
