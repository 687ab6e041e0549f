"""A game server of the deployed stack, as the plugin calls: a purchase runs there, and a refund takes it back."""

import time

from checks import expect, expect_equal
from purchase import Shopper

# Of the sample store: a boost that ends after two hours, on server 1, which has the storefront's key.
ITEM, SERVER = 401, "1"
GRANT, REVOKE = "boost start double_harvest {} 1", "boost stop double_harvest {}"
PLAYER = "Deploy_Gamer"
# A poll may find another's lease, and the sweep queues what a request did not.
PATIENCE = 90


class GameServer:
    """`payments` sells and refunds."""

    def __init__(self, trial, payments):
        self.trial = trial
        self.payments = payments

    def says(self, call, ids=None):
        path = f"/plugin/api/servers/{self.trial.storefront.server_key}/commands/{call}/"
        body = None if ids is None else {"ids": ids}
        reply = self.trial.storefront.call("GET" if ids is None else "POST", path, body)
        expect_equal(f"the status of {call} ({reply.text[:200]})", reply.status, 200)
        return reply.json()

    def run(self, command):
        """Polls until a command is served, and acknowledges every row. Returns the command's id."""
        until, wanted = time.monotonic() + PATIENCE, command.format(PLAYER)
        while time.monotonic() < until:
            rows = [row for row in self.says("queue") if "command" in row]
            ids = [row["id"] for row in rows]
            if ids:
                for call in ("delivered", "executed"):
                    results = self.says(call, ids)["results"]
                    expect_equal(f"what is {call}", sorted(one["id"] for one in results if one["status"]), sorted(ids))
            found = [row["id"] for row in rows if row["command"] == wanted]
            if found:
                return found[0]
            time.sleep(2)
        expect(False, f"{wanted!r} is not served within {PATIENCE} seconds")

    def state(self, command):
        listed = self.trial.json("delivery", "list", "--server", SERVER, "--user", PLAYER)["commands"]
        return {one["id"]: one["state"] for one in listed}.get(command)

    def delivers(self):
        """Bought, polled, executed; refunded, polled, executed. The sweep measures the server."""
        shopper = Shopper(self.trial.storefront, PLAYER)
        shopper.add(ITEM, server_id=int(SERVER))
        checkout = shopper.check_out()
        self.payments.stand_in.press(checkout, "pay")
        self.payments.notify(checkout, "checkout.session.completed")
        granted = self.run(GRANT)
        expect_equal("the state of the command", self.state(granted), "executed")
        self.payments.storectl("order", "refund", checkout.order, "--yes")
        revoked = self.run(REVOKE)
        expect_equal("the state of what takes it back", self.state(revoked), "executed")
        expect_equal("the status of a sweep", self.payments.sweep()["statusCode"], 200)
        self.payments.secrets.append(self.trial.storefront.server_key)
        return f"commands {granted} and {revoked}"
