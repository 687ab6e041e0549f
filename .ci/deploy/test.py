"""Deploys the real template with the real binaries into an emulated account with enforced IAM, and uses what comes out.

    python .ci/deploy/test.py               build, then everything
    python .ci/deploy/test.py --no-build    with what the last `sam build` left in target/deploy/build

One line per step; the first thing that does not hold ends it with a non-zero code.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

from botocore.exceptions import ClientError

sys.dont_write_bytecode = True

import elf  # noqa: E402  no byte code beside the sources
import gateway  # noqa: E402
import logs  # noqa: E402
import roles  # noqa: E402
from cloud import ROOT, WORK, Account, Failed, expect, expect_equal, tool  # noqa: E402
from storefront import Storefront  # noqa: E402

STACK = "storefront-test"
BUILD = WORK / "build"
TEMPLATE = BUILD / "template.yaml"
PROCESSOR = "x86_64"
# Amazon Linux 2023 has this one.
GLIBC = (2, 34)
# Bytes of a function: the larger it is, the longer a cold start.
LARGEST = 4_500_000
# The payments function has the carts, the orders and Stripe's calls.
LARGEST_PAYMENTS = 5_300_000
# They have the same dependencies with the same features.
ALIKE = ["catalog", "cart", "payments", "content"]
FUNCTIONS = ["CatalogFunction", "CartFunction", "PaymentsFunction", "ContentFunction", "AuthFunction"]
# The sample store's storefront.
ORIGIN = "https://store.emberfall.example"
# Of the store's client at the chat platform.
CLIENT_SECRET = "a-client-secret-that-no-output-may-show"


def build():
    # SAM builds one function after the other, and most of each build is the linker's single thread. Built together they
    # are linked concurrently, and SAM finds them done; cargo builds again what would differ.
    run([tool("cargo-lambda"), "lambda", "build", "--release", *(f"-p={name}" for name in ALIKE)])
    run([tool("sam"), "build", "--config-env", "default", "--build-dir", BUILD, "--parameter-overrides",
         f"Architecture={PROCESSOR}"])


def run(command):
    environment = {**os.environ, "SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": "us-east-1",
                   "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    expect(done.returncode == 0,
           f"{' '.join(map(str, command))} ended with {done.returncode}\n" + "\n".join(done.stdout.splitlines()[-40:]))


def binaries():
    """They are for the right processor, run on Amazon Linux 2023 and are small."""
    sizes = []
    for function in FUNCTIONS:
        data = (BUILD / function / "bootstrap").read_bytes()
        expect_equal(f"the processor of {function}", elf.machine(data), PROCESSOR)
        newest = elf.newest_glibc(data)
        expect(newest is None or newest <= GLIBC, f"{function} needs glibc {newest}, newer than {GLIBC}")
        largest = LARGEST_PAYMENTS if function == "PaymentsFunction" else LARGEST
        expect(len(data) <= largest, f"{function} has {len(data)} bytes, more than {largest}")
        sizes.append(len(data))
    return f"{min(sizes) / 1e6:.1f} to {max(sizes) / 1e6:.1f} MB"


class Trial:
    """One stack from its first deploy to its end."""

    def __init__(self, account):
        self.account = account
        self.parameters = {"Architecture": PROCESSOR}

    def storectl(self, *arguments):
        return self.account.run(ROOT / "target" / "debug" / "storectl", *arguments, "--stack", STACK)

    def json(self, *arguments):
        return json.loads(self.storectl(*arguments, "--json"))

    def deploy(self, template=TEMPLATE, **changes):
        self.parameters.update(changes)
        self.account.deploy(template, STACK, self.parameters)
        return f"{len(gateway.import_api(self.account, STACK))} routes"

    def status(self):
        described = self.account.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        return described[0]["StackStatus"]

    def environment(self, function="CartFunction"):
        configuration = self.account.client("lambda").get_function_configuration(FunctionName=self.ids[function])
        return configuration["Environment"]["Variables"]

    def first_deploy(self):
        said = self.deploy()
        expect_equal("the stack's status", self.status(), "CREATE_COMPLETE")
        processed = gateway.Processed(self.account, STACK)
        self.ids, self.outputs, self.stack_id = processed.ids, processed.outputs, processed.stack_id
        watch = self.account.client("cloudwatch")
        alarms = watch.describe_alarms()["MetricAlarms"]
        expect_equal("where alarms are sent", {a for alarm in alarms for a in alarm["AlarmActions"]},
                     {self.outputs["AlarmTopic"]})
        dashboards = watch.list_dashboards()["DashboardEntries"]
        expect_equal("the number of dashboards", len(dashboards), 1)
        return f"{said}, {len(alarms)} alarms"

    def fill(self):
        """As an owner would: publish a store, make accounts and codes, fill a cart, record orders."""
        self.storectl("publish", "infra/sample-store", "--yes")
        for name in ("Buyer", "Stranger", "Revoked"):
            self.storectl("user", "add", name, "--virtual-currency", "1250")
        self.storectl("coupon", "add", "WELCOME10", "--percentage", "10")
        self.storectl("referral", "add", "lantern", "--owner", "Stranger")
        self.storectl("cart", "add", "Buyer", "401", "--server", "1")
        self.storectl("cart", "add", "Buyer", "102")
        self.storectl("cart", "add", "Buyer", "402", "--server", "2")
        self.storectl("cart", "add", "Buyer", "601", "--price", "3.99")
        self.storectl("order", "record", "--id", "deploytestorder1", "--owner", "Buyer", "--gateway", "cardhouse",
                      "--line", "101")
        self.storectl("order", "record", "--id", "deploytestorder2", "--gateway", "cardhouse", "--line", "401")
        tokens = {name.lower(): self.token(name) for name in ("Buyer", "Stranger", "Revoked")}
        self.storectl("revoke", "Revoked")
        self.storefront = Storefront(self.account, self.outputs["ApiUrl"], tokens)

    def token(self, user):
        return self.json("token", user)["token"]

    def use(self):
        self.storefront.every_endpoint()
        self.storefront.shop()
        self.storefront.addresses_and_caching()
        self.storefront.access()
        self.storefront.limiter()
        self.storefront.preflight(ORIGIN, "*")
        self.storefront.chat_login_needs("AllowedOrigins")

    def logs(self):
        """A token's signature, a code, an order, an address and a name are in no line."""
        signature = self.storefront.tokens["buyer"].rsplit(".", 1)[1]
        secrets = [signature, "welcome10", "lantern", "deploytestorder1", "127.0.0.1", "Buyer", "Deploy_Shopper"]
        return f"{logs.check(self.account, self.outputs['FunctionLogGroup'], STACK, secrets)} requests"

    def roles(self):
        secret = {"SecretId": self.outputs["TokenKeysArn"]}
        elsewhere = [("secretsmanager", "get_secret_value", secret),
                     *(("lambda", "invoke", {"FunctionName": self.ids[f]}) for f in FUNCTIONS)]
        refused, passed = roles.try_all(self.account, self.outputs["TableName"], self.ids, elsewhere)
        return f"{refused} attempts refused, {passed} let through"

    def update(self):
        """Changed parameters reach the functions; tokens stay valid; nothing is lost."""
        self.deploy(AllowedOrigins=ORIGIN, CacheSeconds="1", LogLevel="warn")
        expect_equal("the stack's status", self.status(), "UPDATE_COMPLETE")
        expect_equal("the environment of the functions", self.environment()["CACHE_SECONDS"], "1")
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
        # CloudFormation reads a secret again for a function that any changed property updates. The emulator wants to
        # see the change in the template, where a parameter's new value does not show.
        rotated = BUILD / "rotated.yaml"
        text, count = re.subn(r"(KEY_REVISION:)\s+Ref: KeyRevision", r'\1 "2"', TEMPLATE.read_text())
        expect_equal("the number of places with a key revision", count, 1)
        rotated.write_text(text)
        self.deploy(rotated, KeyRevision="2")
        new = self.token("Buyer")
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
                                   ("DomainName", "api.example.com", "CertificateArn")):
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
        """A point-in-time restore is taken into service by one deploy, and the old table is let go."""
        database = self.account.client("dynamodb")
        old, new = self.outputs["TableName"], "store-restored"
        restored = database.restore_table_to_point_in_time(
            SourceTableName=old, TargetTableName=new, UseLatestRestorableTime=True)["TableDescription"]
        database.get_waiter("table_exists").wait(TableName=new, WaiterConfig={"Delay": 1})
        before = database.scan(TableName=old, Select="COUNT")["Count"]
        expect_equal("the number of items restored", database.scan(TableName=new, Select="COUNT")["Count"], before)
        self.deploy(ExistingTable=restored["TableArn"])
        expect_equal("the table that the functions use", self.environment()["TABLE_NAME"], new)
        self.outputs = gateway.Processed(self.account, STACK).outputs
        expect_equal("the table that the stack names", self.outputs["TableName"], new)
        self.storefront.still_serves()
        expect_equal("the items of the old table", database.scan(TableName=old, Select="COUNT")["Count"], before)

    def faulty_template(self):
        """A template that fails half-way through is rolled back, and the old stack serves all the while."""
        faulty = BUILD / "faulty.yaml"
        fault = """
  Fault:
    Type: AWS::SSM::Parameter
    DependsOn: [CatalogFunction, CartFunction, PaymentsFunction, ContentFunction, AuthFunction]
    Properties:
      Type: String
      Value: "{{resolve:secretsmanager:no-such-secret:SecretString}}"
"""
        text = TEMPLATE.read_text()
        faulty.write_text(text.replace("\nResources:\n", f"\nResources:{fault}", 1))
        before = self.environment()
        said = self.account.deploy(faulty, STACK, {**self.parameters, "CacheSeconds": "9"}, fails=True)
        expect("Fault" in said, "the failure does not name the resource")
        expect_equal("the stack's status", self.status(), "UPDATE_ROLLBACK_COMPLETE")
        expect_equal("the functions' environment after the rollback", self.environment(), before)
        self.storefront.still_serves()

    def delete(self):
        """The stack is removed; table and keys stay."""
        table, secrets = self.outputs["TableName"], [self.outputs[name] for name in ("TokenKeysArn", "PaymentKeysArn")]
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


def main():
    arguments = argparse.ArgumentParser(description="Deploys into an emulated account and uses what comes out.")
    arguments.add_argument("--no-build", action="store_true", help="take what the last `sam build` left")
    options = arguments.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        if not options.no_build:
            step("sam build", build)
        step("binaries", binaries)
        with Account() as account:
            trial = Trial(account)
            step("first deploy", trial.first_deploy)
            step("publish, accounts, codes, orders", trial.fill)
            step("all endpoints, access, limiter, preflight", trial.use)
            step("logs and metrics", trial.logs)
            step("what each role may", trial.roles)
            step("update", trial.update)
            step("key rotation", trial.rotate)
            step("values that are refused", trial.refused_values)
            step("a restored table is taken into service", trial.existing_table)
            step("a fault is rolled back", trial.faulty_template)
            step("delete", trial.delete)
    except Failed as failure:
        sys.exit(f"FAULT {failure}")


def step(name, action):
    started = time.monotonic()
    said = action()
    print(f"ok    {name}{f': {said}' if said else ''} ({time.monotonic() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
