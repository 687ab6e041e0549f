"""Deploys the real template with the real binaries into an emulated account with enforced IAM, and uses what comes out.

    python .ci/deploy/test.py               build, then everything
    python .ci/deploy/test.py --only-build  the build, and checks of the binaries
    python .ci/deploy/test.py --no-build    with what the last `sam build` left in target/deploy/build
    python .ci/deploy/test.py --only-shop   the part with the shop, with what the last `sam build` left

One line per step; the first thing that does not hold ends it with a non-zero code.
"""

import argparse
import json
import sys
import time

from botocore.exceptions import ClientError

sys.dont_write_bytecode = True

import elf  # noqa: E402  no byte code beside the sources
import logs  # noqa: E402
import roles  # noqa: E402
from checks import Failed, expect, expect_equal  # noqa: E402
from cloud import FUNCTIONS, WORK, Emulator  # noqa: E402
from game_server import GameServer  # noqa: E402
from notices import Notices  # noqa: E402
from payments import KEY, Payments  # noqa: E402
from purchase import StandIn  # noqa: E402
from shop import Shop  # noqa: E402
from stack import BUILD, TEMPLATE, Stack, build  # noqa: E402
from storefront import ORDER  # noqa: E402
from subscriptions import Subscriptions  # noqa: E402

STACK = "storefront-test"
PROCESSOR = "x86_64"
# Amazon Linux 2023 has this one.
GLIBC = (2, 34)
LOGICAL_IDS = [f"{name.capitalize()}Function" for name in FUNCTIONS]
# The sample store's storefront.
ORIGIN = "https://store.emberfall.example"
# Of the store's client at the chat platform.
CLIENT_SECRET = "a-client-secret-that-no-output-may-show"


def binaries():
    """They are for the right processor, run on Amazon Linux 2023. tests/bench judges their sizes."""
    sizes = []
    for function in LOGICAL_IDS:
        data = (BUILD / function / "bootstrap").read_bytes()
        expect_equal(f"the processor of {function}", elf.machine(data), PROCESSOR)
        newest = elf.newest_glibc(data)
        expect(newest is None or newest <= GLIBC, f"{function} needs glibc {newest}, newer than {GLIBC}")
        sizes.append(len(data))
    return f"{min(sizes) / 1e6:.1f} to {max(sizes) / 1e6:.1f} MB"


class Trial(Stack):
    """One stack from its first deploy to its end."""

    def __init__(self, account):
        super().__init__(account, STACK, {"Architecture": PROCESSOR, "Monitoring": "full", "Notices": "true"})

    def status(self):
        return self.described()["StackStatus"]

    def first_deploy(self):
        routes = self.deploy()
        expect_equal("the stack's status", self.status(), "CREATE_COMPLETE")
        self.read()
        watch = self.account.client("cloudwatch")
        alarms = watch.describe_alarms()["MetricAlarms"]
        expect_equal("where alarms are sent", {a for alarm in alarms for a in alarm["AlarmActions"]},
                     {self.outputs["AlarmTopic"]})
        dashboards = watch.list_dashboards()["DashboardEntries"]
        expect_equal("the number of dashboards", len(dashboards), 1)
        return f"{len(routes)} routes, {len(alarms)} alarms"

    def logs(self, of_payments):
        """A token's signature, a code, an order, an address, a name and what payments keep secret are in no line."""
        signature = self.storefront.tokens["buyer"].rsplit(".", 1)[1]
        secrets = [signature, "eighth", "toadmail", ORDER, "127.0.0.1", "Thornwick", "Deploy_Shopper", *of_payments]
        requests, servers = logs.check(self.account, self.outputs["FunctionLogGroup"], STACK, secrets)
        expect(servers > 0, "no game server was measured")
        return f"{requests} requests, {servers} lines of game servers"

    def roles(self):
        secret = {"SecretId": self.outputs["TokenKeysArn"]}
        elsewhere = [("secretsmanager", "get_secret_value", secret),
                     *(("lambda", "invoke", {"FunctionName": self.ids[f]}) for f in LOGICAL_IDS)]
        refused, passed = roles.try_all(self.account, self.outputs["TableName"], self.ids, elsewhere)
        return f"{refused} attempts refused, {passed} let through"

    def update(self):
        """Changed parameters reach the functions; tokens stay valid; nothing is lost. Without payments the schedule goes
        on for open orders."""
        self.deploy(AllowedOrigins=ORIGIN, LogLevel="warn", Payments="false")
        expect_equal("the stack's status", self.status(), "UPDATE_COMPLETE")
        expect_equal("the environment of the functions", self.environment()["LOG_LEVEL"], "warn")
        expect("rk_test" in self.environment("PaymentsFunction")["PAYMENT_KEYS"], "open orders can no longer be settled")
        expect_equal("the number of schedules", len(self.account.client("events").list_rules()["Rules"]), 2)
        expect_equal("whether checkouts begin", self.environment("PaymentsFunction")["TAKES_PAYMENTS"], "false")
        self.storefront.preflight(ORIGIN, ORIGIN)
        self.storefront.preflight("https://elsewhere.example", None)
        self.storefront.chat_login_needs("storectl chat connect")
        self.storefront.still_serves()

    def rotate(self):
        """A second key signs, the first still verifies, and both reach the functions by a changed KeyRevision. So does the
        client secret of the chat platform."""
        file = WORK / "client-secret.txt"
        file.write_text(f"{CLIENT_SECRET}\n")
        said = self.storectl("chat", "connect", "--secret-file", file)
        file.unlink()
        expect("KeyRevision=" in said and CLIENT_SECRET not in said, f"storectl chat connect says {said}")
        secrets = self.account.client("secretsmanager")
        name = {"SecretId": self.outputs["TokenKeysArn"]}
        old = json.loads(secrets.get_secret_value(**name)["SecretString"])
        secrets.put_secret_value(**name, SecretString=json.dumps({"k2": "0123456789abcdef" * 4, **old}))
        self.deploy(self.revised("rotated"), KeyRevision="rotated")
        new = self.token("Thornwick")
        for token in (new, self.storefront.tokens["buyer"]):
            reply = self.storefront.call("POST", "/user", token=token)
            expect_equal("the status with a token of either key", reply.status, 200)
        expect_equal("the chat secret of the auth function", json.loads(self.environment("AuthFunction")["CHAT_SECRET"]),
                     {"client_secret": CLIENT_SECRET})
        expect("CHAT_SECRET" not in self.environment(), "another function has the chat secret")
        self.storefront.chat_login_needs("not valid")

    def refused_values(self):
        """What is wrong is refused before anything is touched, and the refusal names it."""
        before = self.status()
        said = self.account.deploy(TEMPLATE, STACK, {**self.parameters, "AllowedOrigins": "*,https://a.example"},
                                   fails=True)
        expect("AllowedOrigins" in said, "the refusal does not name the parameter")
        # What the command line tool asks CloudFormation, without its own ten seconds.
        formation = self.account.client("cloudformation")
        for name, value, named in (("MemorySize", "300", "MemorySize"), ("ExistingTable", "a-name", "ExistingTable"),
                                   ("DomainName", "api.example.com", "CertificateArn"),
                                   ("ShopDomainName", "store.example.com", "Shop=true")):
            values = {**self.parameters, name: value}.items()
            try:
                formation.create_change_set(
                    StackName=STACK, ChangeSetName="refused", UsePreviousTemplate=True,
                    Capabilities=["CAPABILITY_IAM"],
                    Parameters=[{"ParameterKey": key, "ParameterValue": given} for key, given in values])
            except ClientError as error:
                expect(named in str(error), f"the refusal of {name}={value} does not name {named}: {error}")
            else:
                raise Failed(f"{name}={value} is not refused")
        expect_equal("the status after refused values", self.status(), before)

    def existing_table(self):
        """A point-in-time restore is taken into service by one deploy, and the old table is detached."""
        database = self.account.client("dynamodb")
        old, new = self.outputs["TableName"], "store-restored"
        restored = database.restore_table_to_point_in_time(
            SourceTableName=old, TargetTableName=new, UseLatestRestorableTime=True)["TableDescription"]
        database.get_waiter("table_exists").wait(TableName=new, WaiterConfig={"Delay": 1})
        before = database.scan(TableName=old, Select="COUNT")["Count"]
        expect_equal("the number of items restored", database.scan(TableName=new, Select="COUNT")["Count"], before)
        self.deploy(ExistingTable=restored["TableArn"])
        expect_equal("the table that the functions use", self.environment()["TABLE_NAME"], new)
        self.read()
        expect_equal("the table that the stack names", self.outputs["TableName"], new)
        self.storefront.still_serves()
        expect_equal("the items of the old table", database.scan(TableName=old, Select="COUNT")["Count"], before)

    def faulty_template(self):
        """A template that fails half-way through is rolled back, and the old stack serves all the while."""
        faulty = BUILD / "faulty.yaml"
        fault = """
  Fault:
    Type: AWS::SSM::Parameter
    DependsOn: [CatalogFunction, CartFunction, PaymentsFunction, ContentFunction, AuthFunction, DeliveryFunction, NoticesFunction]
    Properties:
      Type: String
      Value: "{{resolve:secretsmanager:no-such-secret:SecretString}}"
"""
        text = TEMPLATE.read_text()
        faulty.write_text(text.replace("\nResources:\n", f"\nResources:{fault}", 1))
        before = self.environment()
        said = self.account.deploy(faulty, STACK, {**self.parameters, "LogLevel": "error"}, fails=True)
        expect("Fault" in said, "the failure does not name the resource")
        expect_equal("the stack's status", self.status(), "UPDATE_ROLLBACK_COMPLETE")
        expect_equal("the functions' environment after the rollback", self.environment(), before)
        self.storefront.still_serves()

    def delete(self):
        """The stack is removed; table and keys stay."""
        table, secrets = self.outputs["TableName"], [self.outputs[name] for name in ("TokenKeysArn", "PaymentKeysArn", "NoticeKeysArn")]
        database = self.account.client("dynamodb")
        items = database.scan(TableName=table, Select="COUNT")["Count"]
        # Not by `sam delete`: it wants to clear the bucket as well, and takes no address of S3 but AWS's own.
        formation = self.account.client("cloudformation")
        formation.delete_stack(StackName=STACK)
        formation.get_waiter("stack_delete_complete").wait(StackName=self.stack_id, WaiterConfig={"Delay": 1})
        expect_equal("the number of items after the deletion",
                     database.scan(TableName=table, Select="COUNT")["Count"], items)
        for secret in secrets:
            self.account.client("secretsmanager").get_secret_value(SecretId=secret)
        left = self.account.client("lambda").list_functions()["Functions"]
        expect_equal("the functions that are left", [f["FunctionName"] for f in left], [])
        return f"{items} items stay"


def shop(account, stand_in):
    """A second stack, with the shop."""
    trial = Shop(account, PROCESSOR)
    step("a shop: first deploy", trial.first_deploy)
    step("one way in", trial.one_way_in)
    step("the bucket", trial.bucket)
    step("ten buyers at once", trial.mixed)
    step("kept by the path alone", trial.by_path)
    step("shown after a publish", trial.ages)
    step("not modified", trial.unchanged)
    step("errors are not kept", trial.errors)
    step("planted mistakes", trial.mistakes)
    payments = Payments(trial, stand_in)
    step("payments are connected", payments.connect)
    step("paid, through the edge", payments.by_webhook)
    step("a visit and a purchase in Chromium", trial.in_browser)
    step("the edge's key is rotated", trial.rotate)
    step("delete", trial.delete)


def main():
    arguments = argparse.ArgumentParser(description="Deploys into an emulated account and uses what comes out.")
    arguments.add_argument("--no-build", action="store_true", help="take what the last `sam build` left")
    arguments.add_argument("--only-shop", action="store_true", help="deploy the stack with the shop only, without a build")
    arguments.add_argument("--only-build", action="store_true", help="build, check the binaries, and deploy nothing")
    options = arguments.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        if not options.no_build and not options.only_shop:
            step("sam build", lambda: build(PROCESSOR))
        if not options.only_shop:
            step("binaries", binaries)
        if options.only_build:
            return
        with Emulator() as account, StandIn(KEY) as stand_in:
            if options.only_shop:
                shop(account, stand_in)
                return
            trial = Trial(account)
            step("first deploy", trial.first_deploy)
            step("publish, accounts, codes, orders", trial.fill)
            step("all endpoints, access, preflight", trial.smoke)
            step("a notice is sent", Notices(trial).sends)
            payments = Payments(trial, stand_in)
            step("payments are connected", payments.connect)
            step("paid, by webhook", payments.by_webhook)
            step("paid, by the buyer's return; refunded in the dashboard", payments.refund_by_webhook)
            step("paid, by the sweep", payments.by_sweep)
            step("subscribed, renewed, cancelled", Subscriptions(trial, payments).lives)
            step("not paid", payments.expired)
            step("refunded by storectl", payments.refund)
            step("delivered to a game server, and taken back", GameServer(trial, payments).delivers)
            step("limiter", trial.storefront.limiter)
            step("logs and metrics", lambda: trial.logs(payments.secrets))
            step("what each role may", trial.roles)
            step("payments with a right less", payments.refused_without)
            step("update", trial.update)
            step("key rotation", trial.rotate)
            step("values that are refused", trial.refused_values)
            step("a restored table is taken into service", trial.existing_table)
            step("a fault is rolled back", trial.faulty_template)
            step("delete", trial.delete)
            shop(account, stand_in)
    except Failed as failure:
        sys.exit(f"FAULT {failure}")


def step(name, action):
    started = time.monotonic()
    said = action()
    print(f"ok    {name}{f': {said}' if said else ''} ({time.monotonic() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
