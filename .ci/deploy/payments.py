"""Payments in the deployed stack: connected with storectl, paid at the stand-in for Stripe, refunded.

The template never names another server than Stripe's, so that the address of the stand-in is put into the deployed
function's environment here. The function accepts it because it is of this machine.
"""

import json
import time
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from checks import Failed, expect, expect_equal
from cloud import WORK
from purchase import Shopper, deliver
from stack import LIMITED

FUNCTION = "PaymentsFunction"
KEY = "rk_test_deploy"
# Of the sample store: a mount that can be given away.
GIFT = 311
GIFT_VARIABLES = {1: "Dust", 2: "Plain"}


class Payments:
    """What a stack does with payments switched on. `trial` has the stack."""

    def __init__(self, trial, stand_in):
        self.trial = trial
        self.stand_in = stand_in
        self.account = trial.account
        self.storefront = trial.storefront
        self.secrets = [KEY]

    def storectl(self, *arguments):
        return self.trial.storectl(*arguments, "--stripe-api-base", self.stand_in.base)

    def connect(self):
        """As an owner would: key, webhook endpoint, deploy."""
        file = WORK / "stripe-key.txt"
        file.write_text(f"{KEY}\n")
        said = self.storectl("payments", "connect", "stripe", "--stripe-key", file)
        file.unlink()
        expect("Payments=true KeyRevision=" in said and KEY not in said, f"storectl payments connect says {said}")
        self.trial.deploy(self.trial.revised("payments"), Payments="true", KeyRevision="payments")
        keys = json.loads(self.trial.environment(FUNCTION)["PAYMENT_KEYS"])["stripe"]
        expect_equal("the key that the function has", keys["key"], KEY)
        self.webhook_secret, = keys["webhook"]
        self.secrets.append(self.webhook_secret)
        expect("PAYMENT_KEYS" not in self.trial.environment("CartFunction"), "another function has the payment keys")
        self.point_to_stand_in()

    def point_to_stand_in(self):
        variables = self.trial.environment(FUNCTION)
        expect("STRIPE_API_BASE" not in variables, "a deploy names another server than Stripe's")
        self.account.client("lambda").update_function_configuration(
            FunctionName=self.trial.ids[FUNCTION],
            Environment={"Variables": {**variables, "STRIPE_API_BASE": self.stand_in.base}})

    def order(self, checkout):
        return self.trial.json("order", "show", checkout.order, "--stripe-api-base", self.stand_in.base)

    def notify(self, checkout, kind):
        """Posts the newest event of a kind, which is about this checkout."""
        event = self.stand_in.events(kind)[0]
        expect(checkout.order in json.dumps(event) or checkout.session in json.dumps(event), f"{kind} of another order")
        reply = deliver(self.storefront, event, self.webhook_secret)
        expect_equal(f"the response to {kind}", (reply.status, reply.json()), (200, {"received": True}))

    def by_webhook(self):
        """A cart with a limited item, a gift to a player without an account, and a coupon: paid, and settled by the webhook."""
        shopper = Shopper(self.storefront, "Deploy_Payer")
        expect_equal("the payment methods", shopper.methods(), ["Stripe"])
        shopper.add(LIMITED, count=2)
        shopper.add(GIFT, GIFT_VARIABLES, payment_type=2, gift_to="Deploy_Friend")
        shopper.use_code("eighth")
        checkout = shopper.check_out()
        self.secrets.append(checkout.session)
        expect_equal("the state before the payment", shopper.status(checkout), ("pending", "PENDING"))
        expect_equal("the order of the cart's checkout", shopper.cart()["checkout"]["order_id"], checkout.order)
        back = urlsplit(self.stand_in.press(checkout, "pay"))
        expect_equal("where the buyer returns to", parse_qs(back.query),
                     {"order_id": [checkout.order], "checkout_id": [checkout.session]})
        forged = deliver(self.storefront, {"id": "evt_forged"}, "whsec_forged")
        expect_equal("the status of a forged webhook", forged.status, 400)
        self.notify(checkout, "checkout.session.completed")
        expect_equal("the state after the webhook", shopper.status(checkout), ("success", "PAID"))
        # The statistics are the sweep's.
        expect_equal("the status of a sweep", self.sweep()["statusCode"], 200)
        order, cart = self.order(checkout), shopper.cart()
        expect_equal("what is left to do", (order["statistics_due"], order["due"]), (False, None))
        expect_equal("the cart after the payment", (cart["items"], cart["coupon_code"], cart["checkout"]), ([], "", None))
        friend = self.trial.json("user", "show", "Deploy_Friend")
        expect(friend, "the recipient of the gift has no account")
        self.paid = checkout
        return f"{order['price']} {order['currency']}"

    def refund(self):
        """By storectl, in part and then in full, with the webhook that each refund causes."""
        self.storectl("order", "refund", self.paid.order, "--to", "1.00", "--yes")
        expect_equal("the status after a refund in part", self.order(self.paid)["status"], "PAID")
        self.notify(self.paid, "charge.refunded")
        self.storectl("order", "refund", self.paid.order, "--yes")
        self.notify(self.paid, "charge.refunded")
        expect_equal("the status after a full refund", self.order(self.paid)["status"], "REFUNDED")

    def refund_by_webhook(self):
        """A refund in the provider's dashboard: the deployed function writes it."""
        shopper, checkout = self.begin("Deploy_Refunded")
        self.stand_in.press(checkout, "pay")
        expect_equal("the state when the buyer returns", shopper.status(checkout), ("success", "PAID"))
        self.stand_in.press(checkout, "refund_part", amount=50)
        self.notify(checkout, "charge.refunded")
        order = self.order(checkout)
        expect_equal("the order after a refund in part", (order["status"], float(order["refunded"])), ("PAID", 0.5))
        self.stand_in.press(checkout, "refund")
        self.notify(checkout, "charge.refunded")
        expect_equal("the state after a full refund", shopper.status(checkout), ("cancelled", "REFUNDED"))

    def begin(self, name):
        shopper = Shopper(self.storefront, name)
        shopper.add(LIMITED)
        return shopper, shopper.check_out()

    def expired(self):
        """A checkout that is not paid gives back what it held."""
        shopper, checkout = self.begin("Deploy_Undecided")
        self.stand_in.press(checkout, "expire")
        self.notify(checkout, "checkout.session.expired")
        expect_equal("the state of an expired checkout", shopper.status(checkout), ("cancelled", "CANCELLED"))
        expect_equal("the items in the cart", len(shopper.cart()["items"]), 1)

    def sweep(self):
        """Runs the function with the input of its schedule."""
        return self.trial.scheduled("payments/sweep")

    def by_sweep(self):
        """A payment whose webhook is lost, and whose buyer does not return."""
        expect_equal("the status of a sweep", self.sweep()["statusCode"], 200)
        shopper, checkout = self.begin("Deploy_Departed")
        self.stand_in.press(checkout, "pay")
        expect_equal("the order before the sweep", self.order(checkout)["status"], "PENDING")
        # The provider's events are asked for every hour: the last time is moved back by two.
        self.account.client("dynamodb").update_item(
            TableName=self.trial.outputs["TableName"], Key={"pk": {"S": "UNFINISHED"}, "sk": {"S": "EVENTS"}},
            UpdateExpression="SET since = :since", ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeValues={":since": {"N": str(int(time.time()) - 7_200)}})
        swept = self.sweep()
        expect_equal(f"the sweep ({swept})", (swept["statusCode"], json.loads(swept["body"])["failed"]), (200, 0))
        expect_equal("the order after the sweep", self.order(checkout)["status"], "PAID")
        expect_equal("the state that the buyer reads", shopper.status(checkout), ("success", "PAID"))

    def refused_without(self):
        """Each statement of the role is needed: without it, the step that uses it fails, and with it again it succeeds."""
        shopper = Shopper(self.storefront, "Deploy_Denied")
        shopper.add(LIMITED)
        unknown = {"order_id": "nosuchorder"}
        calls = {
            "ReadCartOrderAndStatistics": lambda: shopper.methods(),
            # First: afterwards the checkout is open, and is only returned again.
            "SettleOrders": lambda: shopper.check_out(),
            "CountRequestsToPayAndTakeIds": lambda: shopper.check_out(),
            # The limiter may have closed the window of this address; without the right nothing is counted.
            "CountRequests": lambda: expect(
                self.storefront.call("POST", "/payments/checkStatus", unknown).status in (200, 429), "checkStatus failed"),
            "ListDueOrdersAndStatistics": lambda: expect_equal("the sweep", self.sweep()["statusCode"], 200),
        }
        tried = []
        for sid, call in calls.items():
            with self.without(sid):
                try:
                    call()
                except Failed:
                    tried.append(sid)
                else:
                    raise Failed(f"the function needs no {sid}")
            call()
        return f"{len(tried)} statements"

    @contextmanager
    def without(self, sid):
        """The function's role lacks a statement meanwhile."""
        iam = self.account.client("iam")
        configuration = self.account.client("lambda").get_function_configuration(FunctionName=self.trial.ids[FUNCTION])
        role = configuration["Role"].rsplit("/", 1)[1]
        name, = iam.list_role_policies(RoleName=role)["PolicyNames"]
        document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        kept = [statement for statement in document["Statement"] if statement["Sid"] != sid]
        expect_equal(f"the statements besides {sid}", len(kept), len(document["Statement"]) - 1)
        put = {"RoleName": role, "PolicyName": name}
        iam.put_role_policy(**put, PolicyDocument=json.dumps({**document, "Statement": kept}))
        try:
            yield
        finally:
            iam.put_role_policy(**put, PolicyDocument=json.dumps(document))
