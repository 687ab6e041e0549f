"""A stack with a shop: the edge as its only way in, what it keeps, and what it never may.

The edge is the emulated account's, with the policies of the deployed template (edge.py). What is found there is looked for again with a
mistake planted into those policies, which each check has to find.
"""

import json
import os
import random
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError
from checks import Failed, expect, expect_equal
from cloud import REGION, ROOT, WORK
from stack import Stack
from storefront import EVENTS, OPERATIONS, PAST_EDGE, Storefront

STACK = "storefront-shop"
# Kept by their path alone: calls, and pages of the shop.
CALLS = [path.replace("{name}", "Thornwick") for path, methods in OPERATIONS.items()
         if "304" in methods.get("get", {}).get("responses", {}) and not path.startswith("/shop/")]
PAGES = ["/", "/category/crates", "/item/201", "/pages/about"]
PRIVATE = [("POST", "/user"), ("POST", "/cart/get"), ("POST", "/categories/get/ranks"), ("POST", "/items/getFeaturedDeals"),
           ("GET", "/auth/chat"), ("GET", "/checkAccessibility")]
BUYERS, REQUESTS = 10, 1000
# For so many seconds a function trusts what it knows of the store, and the clock's last one.
TRUSTED_FOR = 5 + 1
# 30 s fresh, 60 s while it is fetched again. The 5 s of a function are over when a publish is done.
LONGEST = 30 + 60
# Any time, at which the edge's clock is stopped. Every check goes on from a later one.
START = 2_000_000_000


class Buyer:
    """One of those who use the edge at the same time. Whatever they send has their mark."""

    def __init__(self, shop, place):
        self.shop, self.name, self.source = shop, f"Edge_Buyer_{place}q", f"127.0.0.{10 + place}"
        self.token = None
        self.token = self.ask("POST", "/auth/username", {"username": self.name}).json()
        self.id = self.ask("POST", "/user").json()["id"]
        self.ask("POST", "/cart/add/402", {"payment_type": 0, "promoted": 0, "server_id": 2, "count": 1})

    def ask(self, method, path, body=None, at=None, **headers):
        sent = {"Cookie": f"token={self.token}; mark={self.name}", "Origin": "https://elsewhere.example", "X-Mark": self.name,
                "X-Viewer-Address": "192.0.2.1", "X-Forwarded-For": "192.0.2.1", "X-Origin-Key": self.name, **headers}
        return (at or self.shop.storefront).call(method, f"{path}?mark={self.name}", body, self.token, sent, source=self.source)

    def look(self, path, **headers):
        """What is the same for everyone: a call, or a page of the shop."""
        return self.ask("GET", path, at=None if path in CALLS else self.shop.site, **headers)


class Shop(Stack):
    def __init__(self, account, processor):
        super().__init__(account, STACK, {"Architecture": processor, "Shop": "true", "Monitoring": "basic",
                                          "DeletionProtection": "false"})
        self.time = START

    def first_deploy(self):
        self.deploy()
        self.read()
        expect(re.fullmatch(r"https://[a-z0-9]+\.cloudfront\.net", self.outputs["ShopUrl"]), f"the outputs are {self.outputs}")
        self.site = Storefront(self.outputs["ShopUrl"], port=self.account.port)
        self.fill()
        self.buyers = [Buyer(self, place) for place in range(BUYERS)]
        return self.outputs["ShopUrl"]

    def one_way_in(self):
        """Past the edge, functions serve game servers and Stripe only; through it, everyone."""
        refused = 0
        for event in EVENTS.values():
            method, path = event["requestContext"]["http"]["method"], event["rawPath"]
            if path.startswith(PAST_EDGE):
                continue
            for headers in ({}, {"X-Origin-Key": ""}, {"X-Origin-Key": "a" * 64}, {"X-Viewer-Address": "192.0.2.1"}):
                reply = self.storefront.call(method, path, token=self.storefront.tokens["buyer"], headers=headers, own=True)
                expect_equal(f"the status of {path} past the edge", (reply.status, list(reply.json())), (403, ["message"]))
                refused += 1
        self.storefront.every_endpoint()
        self.storefront.access()
        for path in ("/plugin/api/getVersion", "/%70lugin/api/getVersion", "/shop/x", "/x/../user"):
            reply = self.site.call("GET", f"/api{path}")
            expect_equal(f"/api{path} at the edge", (reply.status, reply.json()), (404, {"message": "Not Found"}))
        self.storefront.limiter()
        for buyer in self.buyers[:2]:
            reply = buyer.ask("POST", "/payments/checkStatus", {"order_id": "nosuchorder"})
            expect_equal("the status for another viewer", (reply.status, reply.headers["ratelimit-remaining"]), (200, "17"))
        return f"{refused} requests refused"

    def bucket(self):
        """The edge reads it, and no one else."""
        bucket, storage, key = self.outputs["ShopBucket"], self.account.client("s3"), "img/deploy-test.svg"
        storage.put_object(Bucket=bucket, Key=key, Body=b"<svg/>", ContentType="image/svg+xml",
                           CacheControl="public, max-age=31536000, immutable")
        reply = self.site.call("GET", f"/{key}")
        expect_equal("a picture at the edge", (reply.status, reply.text, reply.headers["content-security-policy"]),
                     (200, "<svg/>", "default-src 'none'; style-src 'unsafe-inline'; sandbox"))
        expect_equal("how long it is kept", reply.headers["cache-control"], "public, max-age=31536000, immutable")
        expect_equal("the status of a picture that does not exist", self.site.call("GET", "/img/none.svg").status, 403)
        stranger = boto3.client("s3", endpoint_url=self.account.endpoint, region_name=REGION,
                                config=Config(signature_version=UNSIGNED, retries={"max_attempts": 1}))
        for call, more in (("get_object", {"Key": key}), ("list_objects_v2", {}), ("put_object", {"Key": key, "Body": b""})):
            try:
                getattr(stranger, call)(Bucket=bucket, **more)
            except ClientError as error:
                expect_equal(f"the status of {call} by a stranger", error.response["ResponseMetadata"]["HTTPStatusCode"], 403)
            else:
                raise Failed(f"the bucket does {call} for a stranger")
        closed = storage.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
        expect(len(closed) == 4 and all(closed.values()), f"the block of public access is {closed}")

    def mixed(self):
        """What the buyers ask for in turn: nothing of one reaches another, and what is kept has nothing of anyone."""
        chance, states = random.Random(1), set()
        for _ in range(REQUESTS):
            buyer = chance.choice(self.buyers)
            if chance.random() < 0.5:
                path = chance.choice(CALLS + PAGES)
                reply, strangers = buyer.look(path), self.buyers
                expect_equal(f"the status of {path}", reply.status, 200)
            else:
                method, path = chance.choice(PRIVATE)
                reply, strangers = buyer.ask(method, path), [other for other in self.buyers if other is not buyer]
                expect_equal(f"the status of {path} ({reply.text[:200]})", reply.status, 200)
                owner = {"/user": lambda: reply.json()["id"], "/cart/get": lambda: reply.json()["cart"]["user_id"]}.get(path)
                expect(owner is None or owner() == buyer.id, f"{buyer.name} is given the {path} of another")
            if path == "/auth/chat":
                state, = parse_qs(urlsplit(reply.json()["url"]).query)["state"]
                expect(state not in states, "two logins have the same state")
                states.add(state)
            whole = f"{reply.headers} {reply.text}"
            for other in strangers:
                expect(other.name not in whole and other.token not in whole, f"{path} has something of {other.name}")
        return f"{REQUESTS} requests"

    def later(self, seconds):
        """Lets so much time pass at the edge."""
        self.time += seconds
        self.account.set_edge_clock(self.time)

    def by_path(self):
        """What one buyer was shown is kept for the next, whatever they send."""
        for path in CALLS + PAGES:
            self.later(1000)
            first, second = (buyer.look(path) for buyer in self.buyers[:2])
            expect("age" not in first.headers and "age" in second.headers, f"{path} is not kept by its path alone")
            expect_equal(f"{path} for the next buyer", second.text, first.text)
            expect_equal("the allowed origin", second.headers.get("access-control-allow-origin"), "*")

    def in_browser(self):
        """A visit and a purchase in Chromium, at the address that the deploy printed."""
        self.later(1000)
        self.publish("Emberfall")
        done = subprocess.run(["node", ROOT / ".ci" / "browser" / "deployed.mjs"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120,
                              env={**os.environ, "SHOP": self.outputs["ShopUrl"], "EMULATOR": self.account.endpoint})
        expect_equal(f"the end of the visit ({done.stdout[-2000:]})", done.returncode, 0)
        return done.stdout.strip()

    def publish(self, name):
        """The sample store with this name, whose storefront is this shop. Afterwards every function knows of it."""
        store = WORK / "shop-store"
        # What an earlier run has left is of its own time.
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(ROOT / "infra" / "sample-store", store)
        settings = store / "store.yaml"
        text, count = re.subn(r"(?m)^name: .*$", f"name: {name}", settings.read_text())
        expect_equal("the number of names in store.yaml", count, 1)
        settings.write_text(text.replace("https://store.emberfall.example", self.outputs["ShopUrl"]))
        self.storectl("publish", str(store), "--yes")
        time.sleep(TRUSTED_FOR)

    def ages(self):
        """What is kept is shown after a publish, and not for longer than it may."""
        shown = ["/settings/get", *PAGES]

        def expect_shown(name, when):
            for path in shown:
                expect(name in self.buyers[0].look(path).text, f"{path} does not show {name} {when}")

        self.later(1000)
        self.publish("Before One")
        expect_shown("Before One", "at first")
        self.publish("After One")
        self.later(29)
        expect_shown("Before One", "29 seconds after the publish, as it is kept")
        self.later(LONGEST - 29)
        expect_shown("After One", f"{LONGEST} seconds after the publish")
        self.publish("After Two")
        self.later(LONGEST - 1)
        for path in shown:
            self.buyers[1].look(path)
        expect_shown("After Two", "when it was fetched again")

    def unchanged(self):
        """A browser that has it is told so: by the edge, and when the edge has asked the API."""
        for path in CALLS + PAGES:
            self.later(1000)
            tag = self.buyers[0].look(path).headers["etag"]
            for seconds in (0, 1000):
                self.later(seconds)
                reply = self.buyers[1].look(path, **{"If-None-Match": tag})
                expect_equal(f"{path} with its tag", (reply.status, reply.text), (304, ""))
                expect_equal(f"{path} with another tag", self.buyers[2].look(path, **{"If-None-Match": '"x"'}).status, 200)

    def errors(self):
        """A player who is not known is not kept so."""
        self.later(1000)
        name = f"Edge_{self.time}"
        path = f"/profile/{name}"
        for buyer in self.buyers[:2]:
            expect_equal("the status of an unknown profile", buyer.ask("GET", path).status, 404)
        self.storefront.log_in(name)
        expect_equal("the status of a profile that exists since", self.buyers[0].ask("GET", path).status, 200)

    def mistakes(self):
        """Each is planted into the deployed distribution, and found."""
        def cookie_in_key(policy, _):
            policy["ParametersInCacheKeyAndForwardedToOrigin"]["CookiesConfig"] = {"CookieBehavior": "all"}

        def kept_for_long(policy, _):
            policy["MinTTL"], policy["MaxTTL"] = 300, 300

        def errors_kept(_, distribution):
            distribution["CustomErrorResponses"] = {"Quantity": 0}

        def private_kept(policy, distribution):
            policy["MinTTL"] = 60
            every, = (one for one in distribution["CacheBehaviors"]["Items"] if one["PathPattern"] == "/api/*")
            every["CachePolicyId"] = distribution["DefaultCacheBehavior"]["CachePolicyId"]

        plans = [(cookie_in_key, self.by_path, "kept by its path alone"), (kept_for_long, self.ages, "does not show After One"),
                 (errors_kept, self.errors, "exists since"), (private_kept, self.mixed, "have the same state")]
        for mistake, check, said in plans:
            self.later(1000)
            with self.planted(mistake):
                try:
                    check()
                    raise Failed("nothing")
                except Failed as found:
                    expect(said in str(found), f"{check.__name__} finds {found} of {mistake.__name__}")
        return f"{len(plans)} found"

    @contextmanager
    def planted(self, mistake):
        edge, name = self.account.client("cloudfront"), self.outputs["ShopDistribution"]
        whole = edge.get_distribution_config(Id=name)["DistributionConfig"]
        policy = whole["DefaultCacheBehavior"]["CachePolicyId"]

        def put(change):
            found = edge.get_cache_policy_config(Id=policy)
            changed = [found["CachePolicyConfig"], edge.get_distribution_config(Id=name)["DistributionConfig"]]
            change(changed)
            edge.update_cache_policy(Id=policy, IfMatch=found["ETag"], CachePolicyConfig=changed[0])
            tag = edge.get_distribution_config(Id=name)["ETag"]
            edge.update_distribution(Id=name, IfMatch=tag, DistributionConfig=changed[1])

        before = edge.get_cache_policy_config(Id=policy)["CachePolicyConfig"]
        put(lambda changed: mistake(*changed))
        try:
            yield
        finally:
            put(lambda changed: changed.__setitem__(slice(None), [before, whole]))

    def rotate(self):
        """Both keys are believed, then only the new one."""
        secrets, name = self.account.client("secretsmanager"), self.outputs["OriginKeysArn"]
        old = json.loads(secrets.get_secret_value(SecretId=name)["SecretString"])["current"]
        new = "n" * 64

        def believed():
            return [self.storefront.call("GET", "/staff", headers={"X-Origin-Key": key}, own=True).status for key in (old, new)]

        expect_equal("whether the first key is believed", believed(), [200, 403])
        for keys, wanted in (({"current": new, "previous": old}, [200, 200]), ({"current": new}, [403, 200])):
            secrets.put_secret_value(SecretId=name, SecretString=json.dumps(keys))
            revision = f"edge-{len(keys)}"
            self.deploy(self.revised(revision), KeyRevision=revision)
            expect_equal(f"which keys are believed with {list(keys)}", believed(), wanted)
            self.later(1000)
            expect_equal("the status through the edge", self.buyers[0].look("/staff").status, 200)

    def delete(self):
        """With the stack above. The emulator deletes the bucket too: it looks at no DeletionPolicy of a stack below."""
        formation = self.account.client("cloudformation")
        formation.delete_stack(StackName=STACK)
        formation.get_waiter("stack_delete_complete").wait(StackName=self.stack_id, WaiterConfig={"Delay": 1})
        expect_equal("the distributions that are left",
                     self.account.client("cloudfront").list_distributions()["DistributionList"].get("Items", []), [])
