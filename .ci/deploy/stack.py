"""A stack: built, deployed, filled as an owner fills it, and used as a storefront uses it."""

import json
import os
import re
import shutil
import subprocess
import sys

import gateway
from checks import expect, expect_equal
from cloud import ROOT, WORK, tool
from storefront import GUEST_ORDER, ORDER, Storefront

BUILD = WORK / "build"
TEMPLATE = BUILD / "template.yaml"
# All but auth, whose login library asks for other features of what they have in common.
ALIKE = ["catalog", "cart", "payments", "content", "delivery", "notices"]
# Of the sample store: a key with a limit for all buyers.
LIMITED = 211
# The cart that the event files change, line by line: the cart of user 1 in infra/sample-store/live.jsonl.
CART = {103: {}, 201: {"count": 3}, 301: {}, 401: {"server_id": 1}, 403: {"server_id": 3}, 601: {"price": "3.99"},
        311: {"payment_type": 2, "gift_to": "Pebble"}, 511: {"count": 2}}


def build(processor):
    # SAM builds one function after the other, and most of each build is the linker's single thread. Built together they
    # are linked concurrently, and SAM finds them done: their libraries have the same features.
    run([tool("cargo-lambda"), "lambda", "build", "--release", *(["--arm64"] if processor == "arm64" else []),
         *(f"-p={name}" for name in ALIKE)])
    run([tool("sam"), "build", "--config-env", "default", "--build-dir", BUILD, "--parameter-overrides",
         f"Architecture={processor}"])


def run(command):
    environment = {**os.environ, "SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": "us-east-1",
                   "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    expect(done.returncode == 0,
           f"{' '.join(map(str, command))} ended with {done.returncode}\n" + "\n".join(done.stdout.splitlines()[-40:]))


class Stack:
    """A stack of this template in an account."""

    def __init__(self, account, name, parameters):
        self.account = account
        self.name = name
        self.parameters = parameters

    def storectl(self, *arguments):
        return self.account.run(ROOT / "target" / "debug" / "storectl", *arguments, "--stack", self.name)

    def json(self, *arguments):
        return json.loads(self.storectl(*arguments, "--json"))

    def deploy(self, template=None, **changes):
        self.parameters.update(changes)
        self.account.deploy(template or TEMPLATE, self.name, self.parameters)
        return self.account.import_api(self.name)

    def revised(self, revision):
        """The template, with a key revision written into it. CloudFormation reads a secret again for a function that any
        changed property updates. The emulator wants to see the change in the template, where a parameter's new value does
        not show."""
        file = BUILD / f"{revision}.yaml"
        text, count = re.subn(r"(KEY_REVISION:)\s+Ref: KeyRevision", rf'\1 "{revision}"', TEMPLATE.read_text())
        expect_equal("the number of places with a key revision", count, 1)
        file.write_text(text)
        return file

    def described(self):
        return self.account.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"][0]

    def read(self):
        """The physical names, the outputs and the id of the deployed stack."""
        formation = self.account.client("cloudformation")
        described = self.described()
        self.stack_id = described["StackId"]
        self.outputs = {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}
        summaries = formation.describe_stack_resources(StackName=self.name)["StackResources"]
        self.ids = {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in summaries}

    def environment(self, function="CartFunction"):
        configuration = self.account.client("lambda").get_function_configuration(FunctionName=self.ids[function])
        return configuration["Environment"]["Variables"]

    def scheduled(self, endpoint):
        """Runs a function with the input of its schedule."""
        rules = self.account.client("events")
        targets = [target for rule in rules.list_rules()["Rules"]
                   for target in rules.list_targets_by_rule(Rule=rule["Name"])["Targets"]]
        target, = (target for target in targets if f"SCHEDULE {endpoint}" in target["Input"])
        answer = self.account.client("lambda").invoke(FunctionName=target["Arn"], Payload=target["Input"])
        response = json.load(answer["Payload"])
        expect("FunctionError" not in answer and "statusCode" in response, f"{endpoint} ended with {response}")
        return response

    def fill(self):
        """As an owner would: publish a store, and make what the event files call: accounts, codes, orders, a cart. Without guest
        mode, in which some calls need no token."""
        store = WORK / "store"
        # What an earlier run has left is of its own time.
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(ROOT / "infra" / "sample-store", store)
        settings = store / "store.yaml"
        settings.write_text(settings.read_text().replace("guest_mode: true", "guest_mode: false"))
        self.storectl("publish", str(store), "--yes")
        buyer, stranger, revoked = people = ("Thornwick", "Quillfeather", "Grimble")
        for name in people:
            self.storectl("user", "add", name, "--virtual-currency", "1250")
        self.storectl("coupon", "add", "EIGHTH", "--percentage", "12.5")
        self.storectl("referral", "add", "toadmail", "--owner", stranger)
        self.storectl("order", "record", "--id", ORDER, "--owner", buyer, "--gateway", "cardhouse", "--line", "101:1:4.99")
        self.storectl("order", "record", "--id", GUEST_ORDER, "--gateway", "cardhouse", "--yes", "--line", "211:1:2.49")
        tokens = {"buyer": self.token(buyer), "stranger": self.token(stranger), "revoked": self.token(revoked)}
        self.storectl("revoke", revoked)
        server_key = self.json("server", "add", "1", "--deliver")["key"]
        own = self.outputs["ApiUrl"]
        address = f"{self.outputs['ShopUrl']}/api" if "ShopUrl" in self.outputs else own
        self.storefront = Storefront(address, tokens, self.account.port, server_key, own)
        for item, more in CART.items():
            self.storefront.done(f"/cart/add/{item}", {"payment_type": 0, "promoted": 0, **more}, tokens["buyer"])

    def token(self, user):
        return self.json("token", user)["token"]

    def smoke(self):
        """Every endpoint once, a purchase up to the checkout, addresses, access, and what browsers may."""
        self.storefront.every_endpoint()
        self.storefront.shop()
        self.storefront.addresses_and_caching()
        self.storefront.access()
        self.storefront.preflight("https://store.emberfall.example", "*")
        self.storefront.chat_login_needs("storectl chat connect")
