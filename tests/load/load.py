"""Load on the local server: mixed traffic at a fixed rate, and a flash sale. Needs locust (requirements.txt).

    python tests/load/load.py mixed --minutes 30 --rate 50
    python tests/load/load.py flash-sale --buyers 5000 --units 500 --seconds 60

`--server` is the server to start; target/prove/storefront is made by `cargo build --profile prove -p local`. Prints percentiles by
call and whether each promise was kept, and exits with 1 if one was not.
"""

import argparse
import logging
import random
import sys
import time
from collections import Counter

import gevent
from locust import FastHttpUser, constant_pacing, task
from locust.env import Environment
from locust.exception import StopUser

sys.dont_write_bytecode = True

import visits  # noqa: E402  no byte code beside the sources
from stage import ROOT, Stage  # noqa: E402

# Seconds between two requests of a visitor: at 20 requests per second there are 40 visitors.
PACE = 2
# Seconds until visitors do everything at the same time.
SETTLED = 45
# How many sockets more than then are still called flat. Both ends of a connection to the database or to the stand-in count.
MORE_CONNECTIONS = 32
# Errors that are shown with their text.
SHOWN = 20

numbers = iter(range(1, sys.maxsize))
faults, outcomes = [], Counter()


class Visitor(FastHttpUser):
    """Makes one request at a time. Each visitor has an address of their own, as behind a proxy."""

    abstract = True
    connection_timeout = network_timeout = 30
    kinds = None

    def begin(self):
        self.number = next(numbers)
        self.address = "10." + ".".join(str(byte) for byte in self.number.to_bytes(3, "big"))
        self.token = self.outcome = None
        self.visit = self.kinds[self.number % len(self.kinds)](self)

    def step(self):
        """Makes the next request of the visit. False at its end."""
        try:
            gevent.sleep(next(self.visit) or 0)
            return True
        except StopIteration:
            return False
        except (visits.Fault, KeyError, TypeError) as fault:
            faults.append(f"{self.visit.__name__}: {fault!r}")
            return False

    def ask(self, method, path, body):
        name = "/".join(part for part in path.split("/") if not part.isdigit())
        name = "categories/get/{url}" if name.startswith("categories/get/") else name
        headers = {"x-forwarded-for": self.address}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        with self.rest(method, f"/{path}", name=name, headers=headers, json=body) as response:
            # Refused for good reason: that an item cannot be bought.
            if response.status_code in (200, 422):
                response.success()
            reply = response.js
        is_refused = isinstance(reply, dict) and reply.get("success") is False
        visits.expect(response.status_code == 200 and not is_refused, f"{path}: {response.status_code} {response.text}")
        return reply

    def get(self, path):
        return self.ask("GET", path, None)

    def post(self, path, body=None):
        return self.ask("POST", path, body)

    def add(self, item, body=None):
        """Adds an item to the cart. Returns its line."""
        return self.post(f"cart/add/{item}", body or {})["cid"]

    def pay(self, session):
        """Pays a checkout on the provider's page, which is not a request to the API."""
        with self.client.post(f"{stage.provider}/c/pay/{session}", data={"action": "pay"}, allow_redirects=False,
                              catch_response=True, name="paying at the stand-in") as response:
            if 300 <= response.status_code < 400:
                response.success()
            else:
                response.failure(f"{response.status_code}")


class Mixed(Visitor):
    """Makes a request at every tick, and begins another visit at the end of one."""

    kinds = visits.MIXED
    wait_time = constant_pacing(PACE)

    def on_start(self):
        gevent.sleep(random.random() * PACE)
        self.begin()

    @task
    def go_on(self):
        while not self.step():
            self.begin()


class Buyer(Visitor):
    """Comes once, logs in, and wants one unit."""

    kinds = (visits.sale,)
    most = 0

    @task
    def buy(self):
        self.begin()
        # locust replaces visitors who left while others still arrive.
        if self.number > self.most:
            raise StopUser
        while self.step():
            pass
        outcomes[self.outcome or "without"] += 1
        raise StopUser


def runner_of(user):
    environment = Environment(user_classes=[user], host=stage.api, stop_timeout=60)
    return environment, environment.create_local_runner()


def mixed(rate, seconds):
    environment, runner = runner_of(Mixed)
    runner.start(rate * PACE, spawn_rate=rate)
    # By then the first have paid.
    settled = max(seconds / 6, min(SETTLED, seconds * 3 / 4))
    gevent.sleep(settled)
    memory, connections = stage.usage()
    gevent.sleep(seconds - settled)
    memory_after, connections_after = stage.usage()
    made = environment.stats.total.num_requests
    runner.quit()
    # A visitor whose response takes longer than the pace misses a tick.
    promises = [(f"the rate: {made} requests of {rate * seconds}", made >= rate * seconds * 0.95),
                (f"connections stay flat: {connections} once settled, {connections_after} at the end",
                 connections_after <= connections + MORE_CONNECTIONS)]
    # Not a promise: the stand-in for Stripe and the table are in the same process, and keep every order.
    print(f"figures: memory {memory} KiB once settled, {memory_after} at the end")
    return environment.stats, promises


def flash_sale(buyers, units, seconds):
    environment, runner = runner_of(Buyer)
    Buyer.most = buyers
    runner.start(buyers, spawn_rate=buyers / seconds)
    deadline = time.monotonic() + seconds + 300
    while outcomes.total() < buyers and time.monotonic() < deadline:
        gevent.sleep(1)
    runner.quit()
    paid, held, counted = stage.sold(visits.ON_SALE)
    wanted, without = min(units, buyers), buyers - outcomes["bought"] - outcomes["sold out"]
    return environment.stats, [
        (f"every buyer has a response: {outcomes['bought']} bought, {outcomes['sold out']} sold out, {without} without",
         without == 0),
        (f"{wanted} sold: {paid} paid, {held} held, {counted} counted", paid + held == counted == wanted)]


def report(stats, promises):
    """Prints the figures. Whether every promise was kept."""
    print(f"{'call (milliseconds)':<28}{'requests':>9}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}")
    for entry in [*sorted(stats.entries.values(), key=lambda entry: entry.name), stats.total]:
        p50, p95, p99 = (entry.get_response_time_percentile(part) for part in (0.5, 0.95, 0.99))
        print(f"{entry.name:<28}{entry.num_requests:>9}{p50:>9.0f}{p95:>9.0f}{p99:>9.0f}{entry.max_response_time:>9.0f}")
    errors = [*(f"{error.name}: {error.error}" for error in stats.errors.values()), *faults]
    for error in errors[:SHOWN]:
        print(f"error: {error}")
    promises.insert(0, (f"no errors: {len(errors)}", not errors))
    for text, is_kept in promises:
        print(f"{'kept  ' if is_kept else 'BROKEN'} {text}")
    print(f"figures: {stats.total.num_requests} requests, p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, "
          f"max {stats.total.max_response_time:.0f} ms")
    return all(is_kept for _, is_kept in promises)


def arguments():
    parser = argparse.ArgumentParser(description="Drives load against the local server and checks what it promises.")
    parser.add_argument("--server", default=ROOT / "target" / "debug" / "storefront", help="the program to start")
    runs = parser.add_subparsers(dest="run", required=True)
    run = runs.add_parser("mixed", help="visitors who look around, change carts, buy and pay")
    run.add_argument("--minutes", type=int, default=30)
    run.add_argument("--seconds", type=int, help="instead of minutes")
    run.add_argument("--rate", type=int, default=50, help="requests per second")
    run = runs.add_parser("flash-sale", help="many buyers who want the same item within a short time")
    run.add_argument("--buyers", type=int, default=5000)
    run.add_argument("--units", type=int, default=500)
    run.add_argument("--seconds", type=int, default=60, help="the time in which the buyers come")
    return parser.parse_args()


if __name__ == "__main__":
    options = arguments()
    logging.getLogger("locust").setLevel(logging.ERROR)
    is_sale = options.run == "flash-sale"
    stage = Stage(options.server, *((visits.ON_SALE, options.units) if is_sale else ()))
    try:
        if is_sale:
            result = flash_sale(options.buyers, options.units, options.seconds)
        else:
            result = mixed(options.rate, options.seconds or options.minutes * 60)
        sys.exit(not report(*result))
    finally:
        stage.close()
