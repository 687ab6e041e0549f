"""A subscription in the deployed stack: subscribed, renewed, cancelled by the buyer and ended by the owner."""

from checks import expect, expect_equal
from purchase import Shopper

# Of the sample store: what is paid every month.
ITEM = 602


class Subscriptions:
    """`payments` takes them."""

    def __init__(self, trial, payments):
        self.trial = trial
        self.payments = payments

    def lives(self):
        shopper = Shopper(self.trial.storefront, "Deploy_Subscriber")
        shopper.add(ITEM, payment_type=1)
        checkout = shopper.check_out()
        self.payments.secrets.append(checkout.session)
        self.payments.stand_in.press(checkout, "pay")
        self.payments.notify(checkout, "checkout.session.completed")
        expect_equal("the state after the first payment", shopper.status(checkout), ("success", "PAID"))
        begun, = self.of(shopper)
        expect_equal("the state of the subscription", (begun["item_id"], begun["state"]), (ITEM, "active"))
        self.portal(shopper)
        self.payments.stand_in.press(checkout, "renew")
        for _ in range(2):
            self.payments.notify(checkout, "invoice.paid")
        renewed, = self.of(shopper)
        expect(renewed["renews_at"] > begun["renews_at"], f"{renewed} is not later than {begun}")
        orders = self.trial.json("order", "list", "--user", shopper.name)["orders"]
        expect_equal("the orders of one renewal", [order["status"] for order in orders], ["PAID", "PAID"])
        self.payments.stand_in.press(checkout, "cancel_at_period_end")
        self.payments.notify(checkout, "customer.subscription.updated")
        cancelled, = self.of(shopper)
        expect_equal("the cancelled subscription", (cancelled["state"], cancelled["ends_at"]),
                     ("cancelled", renewed["renews_at"]))
        known, = self.trial.json("subscription", "list", "--user", shopper.name)["subscriptions"]
        self.payments.storectl("subscription", "cancel", known["id"], "--now", "--yes")
        expect_equal("the subscriptions after the end", self.of(shopper), [])
        expect_equal("the status of a sweep", self.payments.sweep()["statusCode"], 200)

    def of(self, shopper):
        """The buyer's subscriptions, as the storefront shows them."""
        reply = self.trial.storefront.call("POST", "/user", token=shopper.token)
        expect_equal(f"the status of user ({reply.text[:200]})", reply.status, 200)
        return reply.json()["subscriptions"]

    def portal(self, shopper):
        """A name is not a proof: it gets the page on which a code is mailed. Who proves the account has no part in what was begun by name."""
        for token, status in ((shopper.token, 200), (self.trial.token(shopper.name), 404)):
            reply = self.trial.storefront.call("POST", "/payments/portal", token=token)
            expect_equal(f"the status of portal ({reply.text[:200]})", reply.status, status)
            expect(status == 404 or reply.json()["by_email"], f"the page of a name is {reply.text[:200]}")
