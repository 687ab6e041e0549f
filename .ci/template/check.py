"""Checks template.yaml, infra/monitoring.yaml and samconfig.toml, offline and without an AWS account.

The template is expanded as CloudFormation would expand it, because that is where mistakes show: SAM drops a conditional
AllowCredentials, and cfn-lint alone does not follow references through SAM's own resource types.

    python .ci/template/check.py              one line per check; the first fault ends it with a non-zero code
    python .ci/template/check.py --self-test  plants mistakes in a copy, one at a time, and expects each to be caught

What is expected of the template is in expected.py, so that a change of access is a change of two files. The routes are
compared with what the endpoints declare by tests/coverage.rs.
"""

import argparse
import json
import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from cfnlint.api import lint  # noqa: E402  the region has to be set before
from cfnlint.config import ManualArgs  # noqa: E402

import expected  # noqa: E402
import mistakes  # noqa: E402
import values  # noqa: E402
from subject import NAMED_ORIGINS, Fault, Subject  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def expect(condition, sentence):
    if not condition:
        raise Fault(sentence)


def expect_equal(what, found, wanted):
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(set(found) | set(wanted)):
            expect_equal(f"{what}: {key}", found.get(key), wanted.get(key))
    expect(found == wanted, f"{what} is {found}, not {wanted}")


def check_parameters(subject):
    parameters = subject.source["Parameters"]
    groups = subject.source["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    grouped = [name for group in groups for name in group["Parameters"]]
    expect_equal("the list of grouped parameters", sorted(grouped), sorted(parameters))
    for name, parameter in parameters.items():
        for key in ("Default", "Description", "ConstraintDescription"):
            expect(key in parameter, f"{name} has no {key}")
        limits = {"AllowedValues", "AllowedPattern", "MinValue"}
        expect(limits & set(parameter), f"{name} takes any value")
        expect(values.allows(parameter, str(parameter["Default"])), f"{name} does not allow its own default")
    for name, (good, bad) in expected.VALUES.items():
        for value in good:
            expect(values.allows(parameters[name], value), f"{name} refuses {value!r}")
        for value in bad:
            expect(not values.allows(parameters[name], value), f"{name} allows {value!r}")


def check_rules(subject):
    """Values that are right one by one and wrong together are refused before anything is made."""
    parameters, rules = subject.source["Parameters"], subject.source["Rules"]
    defaults = {name: str(parameter["Default"]) for name, parameter in parameters.items()}
    expect_equal("what the defaults break", values.broken_rules(rules, defaults), [])
    for wrong, rule in expected.TOGETHER:
        expect_equal(f"what {wrong} breaks", values.broken_rules(rules, {**defaults, **wrong}), [rule])
    for name, rule in rules.items():
        for assertion in rule["Assertions"]:
            named = [p for p in parameters if p in assertion["AssertDescription"]]
            expect(len(named) == 2, f"{name} does not say which parameters it is about")


def check_conditions(subject):
    expect_equal("Conditions", subject.source["Conditions"], expected.CONDITIONS)
    found = {name: r["Condition"] for name, r in subject.any_origin["Resources"].items() if "Condition" in r}
    expect_equal("what exists under a condition", found, expected.CONDITIONAL)


def check_samconfig(subject):
    parameters = subject.source["Parameters"]
    environments = {k: v for k, v in subject.samconfig.items() if k != "version"}
    expect_equal("the list of environments", sorted(environments), ["default", "prod", "staging"])
    stacks = [e["global"]["parameters"]["stack_name"] for e in environments.values()]
    expect(len(set(stacks)) == len(stacks), f"two environments share a stack name: {stacks}")
    for environment, tables in environments.items():
        deploy = tables["deploy"]["parameters"]
        expect_equal(f"capabilities of {environment}", deploy["capabilities"], "CAPABILITY_IAM")
        for override in deploy["parameter_overrides"]:
            name, _, value = override.partition("=")
            expect(name in parameters, f"{environment} sets {name}, which the template does not have")
            expect(values.allows(parameters[name], value), f"{environment} sets {name} to {value!r}, which is not allowed")


def check_cors(subject):
    form = cors_form(subject.any_origin, 1)
    expect_equal("CORS for any origin", form, {**expected.CORS, "allowOrigins": ["*"]})
    form = cors_form(subject.named_origins, 2)
    separator, text = form["allowOrigins"].get("Fn::Split", [None, None])
    expect(separator == "," and isinstance(text, str), "CORS for named origins does not split AllowedOrigins at commas")
    form["allowOrigins"] = text.split(separator)
    wanted = {**expected.CORS, "allowOrigins": NAMED_ORIGINS, "allowCredentials": True}
    expect_equal("CORS for named origins", form, wanted)


def cors_form(expanded, branch):
    """One branch of the expanded CORS settings, which must be a single Fn::If."""
    apis = [r for r in expanded["Resources"].values() if r["Type"] == "AWS::ApiGatewayV2::Api"]
    expect(len(apis) == 1, f"there are {len(apis)} APIs")
    cors = apis[0]["Properties"]["Body"].get("x-amazon-apigateway-cors", {})
    expect(list(cors) == ["Fn::If"], "the CORS settings are not one Fn::If in the expanded template")
    expect_equal("the condition of the CORS settings", cors["Fn::If"][0], "AnyOrigin")
    return dict(cors["Fn::If"][branch])


def check_roles(subject):
    traced = {i: r for i, r in subject.traced["Resources"].items() if r["Type"] == "AWS::IAM::Role"}
    for role, resource in traced.items():
        wanted = [expected.LOGGING_POLICY, expected.TRACING_POLICY]
        expect_equal(f"managed policies of {role} while traced", resource["Properties"]["ManagedPolicyArns"], wanted)
    roles = subject.resources("AWS::IAM::Role")
    expect_equal("the list of roles", sorted(roles), sorted(f"{f}Role" for f in expected.ACCESS))
    for function, wanted in expected.ACCESS.items():
        properties = roles[f"{function}Role"]["Properties"]
        trusted = [s["Principal"] for s in properties["AssumeRolePolicyDocument"]["Statement"]]
        expect_equal(f"who may take the role of {function}", trusted, [{"Service": ["lambda.amazonaws.com"]}])
        expect_equal(f"managed policies of {function}", properties["ManagedPolicyArns"], [expected.LOGGING_POLICY])
        statements = [s for p in properties["Policies"] for s in p["PolicyDocument"]["Statement"]]
        found = [access(function, statement) for statement in statements]
        expect_equal(f"the access of {function}", found, wanted)


def access(function, statement):
    """Actions and partition keys of one statement, after everything that no statement may do otherwise."""
    expect("Sid" in statement, f"a statement of {function} has no Sid")
    where = f"{function}, statement {statement['Sid']}"
    known = {"Sid", "Effect", "Action", "Resource", "Condition"}
    expect(set(statement) == known, f"{where}: has {sorted(statement)} instead of {sorted(known)}")
    expect_equal(f"{where}: Effect", statement["Effect"], "Allow")
    actions = statement["Action"]
    expect(isinstance(actions, list), f"{where}: Action is not a list")
    for action in actions:
        expect("*" not in action and "?" not in action, f"{where}: the wildcard action {action}")
    expect_equal(f"{where}: Resource", statement["Resource"], expected.TABLE_ARN)
    condition = dict(statement["Condition"])
    guard = condition.pop("Null", None)
    expect(guard == {"dynamodb:LeadingKeys": "false"}, f"{where}: a request without a key is not refused (no Null)")
    enclosing = condition.pop("ForAnyValue:StringEquals", None)
    excepted = condition.pop("ForAllValues:StringNotLike", {"dynamodb:LeadingKeys": []})
    expect(list(excepted) == ["dynamodb:LeadingKeys"], f"{where}: StringNotLike of {sorted(excepted)}")
    expect(list(condition) == ["ForAllValues:StringLike"], f"{where}: conditions are {sorted(condition)}")
    keys = condition["ForAllValues:StringLike"].get("dynamodb:LeadingKeys")
    expect(isinstance(keys, list), f"{where}: no list of dynamodb:LeadingKeys")
    for key in keys:
        expect(re.fullmatch(r"[A-Z]+(#[a-z]+)?(#\*)?", key), f"{where}: {key!r} is not a partition key of the table")
    keys = [*keys, *(f"not {key}" for key in excepted["dynamodb:LeadingKeys"])]
    if enclosing is None:
        return actions, keys
    expect(list(enclosing) == ["dynamodb:EnclosingOperation"], f"{where}: StringEquals of {sorted(enclosing)}")
    return actions, keys, *enclosing["dynamodb:EnclosingOperation"]


def check_functions(subject):
    functions = subject.resources("AWS::Lambda::Function")
    expect_equal("the list of functions", sorted(functions), sorted(expected.ACCESS))
    for name, function in functions.items():
        package = name.removesuffix("Function").lower()
        build = {"Binary": package, "CargoLambdaFlags": ["-p", package]}
        wanted = {"BuildMethod": "rust-cargolambda", "BuildProperties": build}
        expect_equal(f"Metadata of {name}", function["Metadata"], wanted)
        properties = function["Properties"]
        variables = properties["Environment"]["Variables"]
        wanted = {**expected.ENVIRONMENT, **expected.OWN_ENVIRONMENT.get(name, {})}
        expect_equal(f"the environment of {name}", variables, wanted)
        for key, value in {**expected.FUNCTION, **expected.OWN_FUNCTION.get(name, {})}.items():
            expect_equal(f"{key} of {name}", properties.get(key), value)


def check_data(subject):
    for kind, wanted in expected.DATA.items():
        resources = subject.resources(kind)
        expect_equal(f"the list of resources of type {kind}", sorted(resources), sorted(wanted))
        for name, resource in resources.items():
            for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
                expect_equal(f"{policy} of {name}", resource.get(policy), "Retain")
            expect_equal(f"Properties of {name}", resource["Properties"], wanted[name])


def check_schedule(subject):
    """Only the rule may call the function besides the API, with an event that is not a request of any route."""
    ((name, rule),) = subject.resources("AWS::Events::Rule").items()
    properties = rule["Properties"]
    expect_equal(f"ScheduleExpression of {name}", properties.get("ScheduleExpression"), expected.SCHEDULE)
    (target,) = properties["Targets"]
    function = target["Arn"]["Fn::GetAtt"][0]
    expect_equal(f"the function that {name} calls", function, "PaymentsFunction")
    event = json.loads(target["Input"])
    for place in (event, event["requestContext"]):
        expect_equal(f"routeKey of the event of {name}", place["routeKey"], expected.SCHEDULE_ROUTE)
    permissions = subject.resources("AWS::Lambda::Permission").values()
    allowed = [p["Properties"] for p in permissions if p["Properties"]["Principal"] != "apigateway.amazonaws.com"]
    wanted = {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": function}, "Principal": "events.amazonaws.com",
              "SourceArn": {"Fn::GetAtt": [name, "Arn"]}}
    expect_equal("what may call functions besides the API", allowed, [wanted])
    expect("STRIPE_API_BASE" not in subject.text, "the template names STRIPE_API_BASE")


def check_stage(subject):
    (stage,) = subject.resources("AWS::ApiGatewayV2::Stage").values()
    properties = stage["Properties"]
    expect_equal("StageName", properties["StageName"], "$default")
    throttle = {"ThrottlingRateLimit": {"Ref": "ThrottleRate"}, "ThrottlingBurstLimit": {"Ref": "ThrottleBurst"}}
    expect_equal("throttling of the stage", properties.get("DefaultRouteSettings"), throttle)
    log = properties.get("AccessLogSettings", {})
    expect_equal("where the access log goes", log.get("DestinationArn"), {"Fn::GetAtt": ["ApiLogs", "Arn"]})
    pair = r'"\w+":"\$context\.[\w.]+"'
    expect(re.fullmatch(rf"\{{{pair}(, ?{pair})*\}}", log["Format"]), "the access log is not JSON")
    for variable in ("identity", "path", "authorizer"):
        expect(f"$context.{variable}" not in log["Format"], f"the access log contains $context.{variable}")
    for name, group in subject.resources("AWS::Logs::LogGroup").items():
        wanted = {"RetentionInDays": {"Ref": "LogRetentionDays"}}
        expect_equal(f"Properties of {name}", group["Properties"], wanted)


def check_monitoring(subject):
    """The stack below gets the parameters that it has, and every alarm notifies the topic and is explained."""
    (nested,) = subject.resources("AWS::CloudFormation::Stack").values()
    expect_equal("TemplateURL", nested["Properties"]["TemplateURL"], "infra/monitoring.yaml")
    given, wanted = nested["Properties"]["Parameters"], subject.monitoring["Parameters"]
    expect_equal("the parameters of infra/monitoring.yaml", sorted(given), sorted(wanted))
    for name, value in given.items():
        if name in expected.SAME_NAME:
            expect_equal(f"{name} of infra/monitoring.yaml", value, {"Ref": name})
    expect_equal("Table of infra/monitoring.yaml", given["Table"], expected.TABLE_NAME)
    for package in ("Catalog", "Cart", "Payments", "Content", "Auth"):
        expect_equal(f"{package} of infra/monitoring.yaml", given[package], {"Ref": f"{package}Function"})
    resources = subject.monitoring["Resources"]
    alarms = {name: r["Properties"] for name, r in resources.items() if r["Type"] == "AWS::CloudWatch::Alarm"}
    expect_equal("the list of alarms", sorted(alarms), expected.ALARMS)
    # Also those of payments: orders may be open while Payments is false.
    expect_equal("alarms under a condition", [name for name in alarms if "Condition" in resources[name]], [])
    explained = (ROOT / "infra" / "docs" / "deployment.md").read_text()
    for name, alarm in alarms.items():
        for moment in ("AlarmActions", "OKActions"):
            expect_equal(f"{moment} of {name}", alarm.get(moment), [{"Ref": "Topic"}])
        missing = "breaching" if name in expected.BREACHING else "notBreaching"
        expect_equal(f"TreatMissingData of {name}", alarm["TreatMissingData"], missing)
        heading = name.removesuffix("Alarm")
        expect(f"deployment.md, {heading})" in alarm["AlarmDescription"]["Fn::Sub"], f"{name} does not say what to do")
        expect(f"\n### {heading}\n" in explained, f"infra/docs/deployment.md does not explain {heading}")
    (dashboard,) = (r for r in resources.values() if r["Type"] == "AWS::CloudWatch::Dashboard")
    try:
        json.loads(dashboard["Properties"]["DashboardBody"]["Fn::Sub"])
    except ValueError as error:
        raise Fault(f"the dashboard is not JSON: {error}") from error


def check_address(subject):
    """The API is at the root of the domain, or under BasePath."""
    (mapping,) = subject.resources("AWS::ApiGatewayV2::ApiMapping").values()
    key = mapping["Properties"].get("ApiMappingKey")
    expect_equal("ApiMappingKey", key, {"Fn::If": ["AtRoot", {"Ref": "AWS::NoValue"}, {"Ref": "BasePath"}]})


def check_names(subject):
    """Two stacks in one account must not conflict: no resource may have a name that the template fixed."""
    resources = {**subject.any_origin["Resources"], **subject.monitoring["Resources"]}
    for name, resource in resources.items():
        for key, value in resource.get("Properties", {}).items():
            fixed = key.endswith("Name") and isinstance(value, str) and value != "$default" and key != "MetricName"
            expect(not fixed, f"{name} has the fixed {key} {value!r}")


def check_lint(subject):
    report("source", lint(subject.text, config=ManualArgs(regions=["us-east-1"])))
    report("infra/monitoring.yaml", lint(subject.monitoring_text, config=ManualArgs(regions=["us-east-1"])))


def check_expanded_lint(subject):
    # W2001: SAM has already written in the parameters that only it reads. W3002: `sam package` replaces the path of the
    # stack below by an S3 address.
    config = ManualArgs(regions=["us-east-1"], ignore_checks=["W2001", "W3002"])
    for expanded in (subject.any_origin, subject.named_origins, subject.traced):
        report("expanded template", lint(json.dumps(expanded, indent=1), config=config))


def report(what, matches):
    if matches:
        # A message may list every name that would have been right.
        lines = [f"  line {m.linenumber}: {m.rule.id} {m.message[:160]}" for m in matches]
        raise Fault(f"cfn-lint on the {what}\n" + "\n".join(lines))


# Cheap ones first. A mistake is then reported by the check that knows most about it.
CHECKS = {
    "parameters": check_parameters,
    "rules": check_rules,
    "conditions": check_conditions,
    "samconfig": check_samconfig,
    "cors": check_cors,
    "roles": check_roles,
    "functions": check_functions,
    "data": check_data,
    "schedule": check_schedule,
    "stage": check_stage,
    "monitoring": check_monitoring,
    "address": check_address,
    "names": check_names,
    "lint": check_lint,
    "expanded lint": check_expanded_lint,
}


def run(template, monitoring, samconfig, say):
    """The name of the check that found a fault, and the fault; or two times None."""
    name = "expand"
    try:
        subject = Subject(template, monitoring, samconfig)
        say(f"ok    {name}")
        for name, check in CHECKS.items():
            check(subject)
            say(f"ok    {name}")
    except Fault as fault:
        return name, fault
    except Exception as error:  # a section is missing, or the file is no YAML at all
        return name, Fault(f"{type(error).__name__}: {error}")
    return None, None


def self_test(*texts):
    """Every planted mistake must be found, and by the check that is meant for it."""
    missed = 0
    for mistake in mistakes.ALL:
        planted = mistake.plant(*texts)
        found, fault = run(*planted, say=lambda _: None)
        caught = found == mistake.caught_by
        missed += not caught
        detail = " ".join(str(fault).split()) if fault else "nothing found"
        print(f"{'ok    ' if caught else 'MISSED'}{mistake.name}: {found}: {detail}"[:200])
    return missed


def main():
    arguments = argparse.ArgumentParser(description="Checks template.yaml, infra/monitoring.yaml and samconfig.toml.")
    arguments.add_argument("--self-test", action="store_true", help="plant mistakes and expect each to be caught")
    options = arguments.parse_args()
    texts = [(ROOT / file).read_text() for file in mistakes.FILES]
    name, fault = run(*texts, say=print)
    if fault:
        sys.exit(f"FAULT {name}: {fault}")
    if options.self_test and self_test(*texts):
        sys.exit("FAULT self-test: a planted mistake was not caught")


if __name__ == "__main__":
    main()
