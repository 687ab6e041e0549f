"""Checks template.yaml, the stacks below it and samconfig.toml, offline and without an AWS account.

    python .ci/template/check.py          lints everything, and compares what is deployed with deployed.txt
    python .ci/template/check.py --renew  writes deployed.txt first; its diff is what a reviewer reads

The template is expanded by SAM's own translator, because that is where mistakes show: SAM drops a conditional
AllowCredentials, and cfn-lint alone does not follow references through SAM's own resource types.
"""

import difflib
import functools
import json
import logging
import os
import subprocess
import sys
import tomllib
from pathlib import Path

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from cfnlint.api import lint  # noqa: E402  the region has to be set before
from cfnlint.config import ManualArgs  # noqa: E402
from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

# The translator counts its own calls, and complains at the end if the count was not fetched.
logging.getLogger("samtranslator.metrics.metrics").disabled = True

ROOT = Path(__file__).resolve().parents[2]
# The resources of the expanded template, each function's environment, and what its role may do. Routes are not in it: they are
# those that the functions declare (tests/coverage.rs), and the keys of each statement are in SECURITY.md (tests/rights.rs).
DEPLOYED = Path(__file__).with_name("deployed.txt")
# The one table.
TABLE = {"Fn::If": ["OwnTable", {"Fn::GetAtt": ["StoreTable", "Arn"]}, {"Ref": "ExistingTable"}]}
# The parameter that changes what SAM itself expands; all others are left to CloudFormation.
VARIANTS = {"AllowedOrigins": "https://store.example.com,http://localhost:3000"}
# The stacks below template.yaml.
BELOW = ("infra/monitoring.yaml", "infra/shop.yaml")
# What the edge makes of a path: the one that the origins are asked for, or none, which is 404.
PATHS = {
    "/": "/shop/index", "/ranks/vip": "/shop/ranks/vip", "/api": "/shop/api", "/apis/x": "/shop/apis/x", "/img": "/shop/img",
    "/ranks/": "/shop/ranks/", "/%C3%A9": "/shop/%C3%A9", "/a..b/.c": "/shop/a..b/.c", "/shop/x": "/shop/shop/x",
    "/api/": "/", "/api/cart/get": "/cart/get", "/api/profile/A%20b": "/profile/A%20b", "/api/api/x": "/api/x",
    "/api/plugins": "/plugins", "/api/x/plugin/y": "/x/plugin/y", "/plugin/api/getVersion": "/shop/plugin/api/getVersion",
    "/assets/1f/app.css": "/assets/1f/app.css", "/img/9c-320.webp": "/img/9c-320.webp",
    **dict.fromkeys(["/api/plugin/api/getVersion", "/api/plugin", "/api/%70lugin/api/getVersion", "/api//plugin/x", "/api/shop/x",
                     "/api/plugin%2Fx", "/api/../user", "/api/%2e%2e/user", "/img/..%2Fassets/x", "/img/../api/user", "/..", "/a/.",
                     "/api/%ff", "/img/%"]),
    # A page that says so.
    **dict.fromkeys(["/%", "/%ff", "/item/%"], "/shop/not-found"),
}
# Mistakes that have to be found, each in a template or samconfig.toml: a text and what replaces it.
MISTAKES = [
    ("Method: POST, Path: /cart/setReferral", "Method: POST, Path: /cart/get"),
    ("Value: !Ref FunctionLogs", "Value: !Ref FunctionLog"),
    # A name that cfn-lint expects of SAM, and that SAM does not give: seen in the expanded template only.
    ("Value: !Ref FunctionLogs", "Value: !Ref StorefrontApiStage"),
    ("        ConcurrencyLimit: !Ref ConcurrencyLimit\n", ""),
    ("TRUSTED_PROXIES: ", "STRIPE_API_BASE: "),
    ("NOTICE_KEYS: ", "NOTICE_LOOPBACK: "),
    # With it the function that calls strangers has the token keys.
    ("          TOKEN_KEYS: !Ref AWS::NoValue\n", ""),
    ("TokenKeys:\n    Type: AWS::SecretsManager::Secret\n    DeletionPolicy: RetainExceptOnCreate\n",
     "TokenKeys:\n    Type: AWS::SecretsManager::Secret\n"),
    ("PasswordLength: 64", "PasswordLength: 65"),
    # A whole statement, an action of one, and each of what limits one to the table and to keys.
    ("""            - Sid: KeepChatAccount
              Effect: Allow
              Action: [dynamodb:PutItem]
              Resource: !If [OwnTable, !GetAtt StoreTable.Arn, !Ref ExistingTable]
              Condition:
                ForAllValues:StringLike:
                  dynamodb:LeadingKeys: [CHAT#*]
                "Null":
                  dynamodb:LeadingKeys: "false"
""", ""),
    ("Action: [dynamodb:PutItem, dynamodb:DeleteItem]", "Action: [dynamodb:PutItem]"),
    ("""[CHAT#*]
                "Null":
                  dynamodb:LeadingKeys: "false"
""", "[CHAT#*]\n"),
    ("Resource: !If [OwnTable, !GetAtt StoreTable.Arn, !Ref ExistingTable]", "Resource: !Ref ExistingTable"),
    ("          CHAT_SECRET: !Sub \"{{resolve:secretsmanager:${ChatSecret}:SecretString}}\"\n", ""),
    # SAM drops it without a word.
    ("AllowCredentials: true", "AllowCredentials: !If [AnyOrigin, false, true]"),
    # Functions without an alarm.
    ("MetricName: Errors, Dimensions: [{Name: FunctionName, Value: !Ref Cart}]", "MetricName: Errors, Dimensions: []"),
    ("        Cart: !Ref CartFunction\n", "        Cart: !Ref CatalogFunction\n"),
    ("        OriginKeys: !Ref OriginKeys\n", ""),
    ("CachePolicyId: !Ref AsTheResponseSays", "CachePolicyId: !Ref AsTheAnswerSays"),
    ("value: event.viewer.ip", "value: request.headers['x-viewer-address'].value"),
    ("(plugin|shop)", "(shop)"),
    ("decodeURIComponent(uri)", "uri"),
    ("MemorySize=512", "Memory=512"),
    ("MemorySize=512", "MemorySize=500"),
]


class PoliciesOfSam:
    """The managed policy that SAM attaches by itself; asking AWS for the list would need an account."""

    def load(self):
        name = "AWSLambdaBasicExecutionRole"
        return {name: f"arn:aws:iam::aws:policy/service-role/{name}"}


# A mistake is in one file: of the others, and of the same template with the same values, the second answer is the first one.
parsed = functools.cache(yaml_parse)


def expand(text, parameters):
    return json.loads(expanded_as_text(text, *sorted(parameters.items())))


@functools.cache
def expanded_as_text(text, *parameters):
    template = yaml_parse(text)
    # `sam package` puts an S3 address here; the translator refuses a folder.
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/code.zip"
    return json.dumps(transform(template, dict(parameters), PoliciesOfSam()))


@functools.cache
def linted(text):
    # W2001: SAM has already written in the parameters that only it reads. W3002: `sam package` replaces the path of the
    # stack below by an S3 address.
    found = lint(text, config=ManualArgs(regions=["us-east-1"], ignore_checks=["W2001", "W3002"]))
    return [f"{match.rule.id} {match.message[:160]}" for match in found]


def deployed(template):
    """The lines of deployed.txt: a resource's name, its type and what is said of it, and below it what it has."""
    resources = expand(template, {})["Resources"]
    said = {name: [resource["Type"]] for name, resource in resources.items() if resource["Type"] != "AWS::Lambda::Permission"}
    has = {name: [] for name in said}
    for name, resource in resources.items():
        properties = resource["Properties"]
        if resource["Type"] == "AWS::Lambda::Permission":
            invoked = said[properties["FunctionName"]["Ref"]]
            invoked += {f"invoked by {properties['Principal']}"}.difference(invoked)
        elif resource["Type"] == "AWS::Lambda::Function":
            variables = properties["Environment"]["Variables"].items()
            has[name] = [" ".join(sorted(name for name, value in variables if value != {"Ref": "AWS::NoValue"}))]
        elif resource["Type"] == "AWS::IAM::Role":
            assumed = [one["Principal"] for one in properties["AssumeRolePolicyDocument"]["Statement"]]
            said[name] += [json.dumps(assumed), *properties["ManagedPolicyArns"]]
            has[name] = [f"{one['Sid']}: {' '.join(one['Action'])}".replace("dynamodb:", "") for one in statements(resource)]
        elif resource["Type"] == "AWS::SecretsManager::Secret":
            # CloudFormation generates a secret again if this changes.
            has[name] = [json.dumps(properties, sort_keys=True)]
        elif resource["Type"] == "AWS::ApiGatewayV2::Api":
            cors = properties["Body"]["x-amazon-apigateway-cors"]["Fn::If"][1:]
            has[name] = [json.dumps({key: value for key, value in one.items() if "Headers" not in key}) for one in cors]
        if "DeletionPolicy" in resource:
            said[name].append(resource["DeletionPolicy"])
    return [line for name in sorted(said) for line in (f"{name}: {', '.join(said[name])}", *(f"  {one}" for one in has[name]))]


def statements(role):
    return [one for policy in role["Properties"]["Policies"] for one in policy["PolicyDocument"]["Statement"]]


def unlimited(expanded):
    """Statements of roles that reach more than keys of the one table. "Null" closes a gap: without it a request that names no
    key at all is allowed."""
    for name, resource in expanded["Resources"].items():
        for one in statements(resource) if resource["Type"] == "AWS::IAM::Role" else ():
            condition = one["Condition"]
            if one["Resource"] != TABLE or not condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] \
                    or condition.get("Null") != {"dynamodb:LeadingKeys": "false"}:
                yield f"{name}: the statement {one['Sid']} is not limited to keys of the table"


def named(value):
    """The resource that a value names, if it exists."""
    return value.get("Ref") or value["Fn::If"][1]["Ref"]


def unwatched(expanded, monitoring):
    """Functions whose errors or throttles raise no alarm."""
    given = expanded["Resources"]["MonitoringStack"]["Properties"]["Parameters"]
    alarms = [r["Properties"] for r in monitoring["Resources"].values() if r["Type"] == "AWS::CloudWatch::Alarm"]
    watched = {(stat["MetricName"], name) for alarm in alarms for query in alarm.get("Metrics", [])
               for stat in [query.get("MetricStat", {}).get("Metric", {})]
               for name in (named(given[one["Value"]["Ref"]]) for one in stat.get("Dimensions", [])
                            if one["Name"] == "FunctionName")}
    for name, resource in expanded["Resources"].items():
        for metric in ("Errors", "Throttles") if resource["Type"] == "AWS::Lambda::Function" else ():
            if (metric, name) not in watched:
                yield f"infra/monitoring.yaml: no alarm is raised by {metric} of {name}"


def edge(shop):
    """What is wrong with the edge's function: every path is asked of it, by a caller who names another address."""
    code = parsed(shop)["Resources"]["Rewrite"]["Properties"]["FunctionCode"]
    asked = "const said = []; for (const uri of JSON.parse(process.argv[1])) said.push(handler({viewer: {ip: '192.0.2.1'}, request: \
        {uri, headers: {'x-viewer-address': {value: '203.0.113.9'}}}})); console.log(JSON.stringify(said))"
    done = subprocess.run(["node", "-e", f"{code};{asked}", json.dumps(list(PATHS))], capture_output=True, text=True)
    if done.returncode:
        yield f"infra/shop.yaml: {done.stderr}"
        return
    for (path, wanted), said in zip(PATHS.items(), json.loads(done.stdout)):
        if wanted is None and said.get("statusCode") != 404 or wanted is not None and said.get("uri") != wanted:
            yield f"infra/shop.yaml: the edge makes {said} of {path}, not {wanted}"
        if wanted is not None and said["headers"]["x-viewer-address"] != {"value": "192.0.2.1"}:
            yield f"infra/shop.yaml: the edge believes the address that a caller of {path} names"


def faults(template, *others):
    """What differs from deployed.txt, statements that allow too much, functions without an alarm; and lines of cfn-lint about
    the expanded template with the values of every environment, and about the stacks below."""
    *below, samconfig = others
    environments = {name: value for name, value in tomllib.loads(samconfig).items() if name != "version"}
    overrides = {name: value["deploy"]["parameters"]["parameter_overrides"] for name, value in environments.items()}
    values = {name: dict(one.split("=", 1) for one in given) for name, given in overrides.items()}
    texts = {}
    for name, parameters in [*values.items(), *((key, {key: value}) for key, value in VARIANTS.items())]:
        expanded = expand(template, {key: value for key, value in parameters.items() if key in VARIANTS})
        for key, value in parameters.items():
            if key not in parsed(template)["Parameters"]:
                yield f"samconfig.toml, {name}: the template has no parameter {key}"
                return
            # cfn-lint judges a default by what its parameter allows, and a reference by every value that it may have.
            declared = {"Type": "String"} if key in VARIANTS else expanded["Parameters"][key]
            value = int(value) if declared["Type"] == "Number" and value.isdigit() else value
            expanded["Parameters"][key] = {**declared, "Default": value}
        texts[f"template.yaml, {name}"] = json.dumps(expanded, indent=1)
    for variable in ("STRIPE_API_BASE", "NOTICE_LOOPBACK"):
        if variable in template:
            yield f"template.yaml: {variable} is for tests; it lets a function call other addresses"
    stacks = (r["Properties"] for r in expanded["Resources"].values() if r["Type"] == "AWS::CloudFormation::Stack")
    given = {stack["TemplateURL"]: set(stack["Parameters"]) for stack in stacks}
    for file, text in zip(BELOW, below, strict=True):
        if different := given.pop(file) ^ set(parsed(text)["Parameters"]):
            yield f"given to {file} or taken by it, and not both: {sorted(different)}"
    if given:
        yield f"not checked: {sorted(given)}"
    yield from edge(below[1])
    yield from unlimited(expanded)
    yield from unwatched(expanded, parsed(below[0]))
    if difference := list(difflib.unified_diff(DEPLOYED.read_text().splitlines(), deployed(template), "deployed.txt",
                                               "template.yaml", lineterm="", n=0)):
        yield "\n".join([*difference, "If this is meant: python .ci/template/check.py --renew"])
    for what, text in [*texts.items(), *zip(BELOW, below)]:
        for match in linted(text):
            yield f"{what}: {match}"


def first_fault(*texts):
    try:
        return next(faults(*texts), None)
    except Exception as error:  # the translator raises several kinds
        return f"SAM cannot expand it: {[getattr(c, 'message', c) for c in getattr(error, 'causes', None) or [error]]}"


def main():
    texts = [(ROOT / file).read_text() for file in ("template.yaml", *BELOW, "samconfig.toml")]
    if "--renew" in sys.argv:
        DEPLOYED.write_text("\n".join(deployed(texts[0])) + "\n")
    if found := first_fault(*texts):
        sys.exit(found)
    for wrong, instead in MISTAKES:
        planted = [text.replace(wrong, instead, 1) for text in texts]
        found = first_fault(*planted)
        if planted == texts or not found:
            sys.exit(f"not found: {instead!r} instead of {wrong!r}")
        print(f"found {instead!r}: {found}")


if __name__ == "__main__":
    main()
