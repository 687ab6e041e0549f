"""Checks template.yaml, infra/monitoring.yaml and samconfig.toml, offline and without an AWS account.

    python .ci/template/check.py          compares the expanded template with expanded.yaml, and lints everything
    python .ci/template/check.py --renew  writes expanded.yaml first; its diff is what a reviewer reads

The template is expanded by SAM's own translator, because that is where mistakes show: SAM drops a conditional
AllowCredentials, and cfn-lint alone does not follow references through SAM's own resource types.
"""

import difflib
import json
import logging
import os
import sys
import tomllib
from pathlib import Path

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

import yaml  # noqa: E402  the region has to be set before
from cfnlint.api import lint  # noqa: E402  the region has to be set before
from cfnlint.config import ManualArgs  # noqa: E402
from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

# The translator counts its own calls, and complains at the end if the count was not fetched.
logging.getLogger("samtranslator.metrics.metrics").disabled = True

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = Path(__file__).with_name("expanded.yaml")
# Parameters that change what SAM itself expands; all others are left to CloudFormation.
VARIANTS = {"AllowedOrigins": "https://store.example.com,http://localhost:3000", "Tracing": "Active"}
# Mistakes that have to be found, each in template.yaml or samconfig.toml: a text and what replaces it.
MISTAKES = [
    ("Method: POST, Path: /cart/setReferral", "Method: POST, Path: /cart/get"),
    ("Value: !Ref FunctionLogs", "Value: !Ref FunctionLog"),
    # A name that cfn-lint expects of SAM, and that SAM does not give: seen in the expanded template only.
    ("Value: !Ref FunctionLogs", "Value: !Ref StorefrontApiStage"),
    ("        SlowMilliseconds: !Ref SlowMilliseconds\n", ""),
    ("TRUSTED_PROXIES: ", "STRIPE_API_BASE: "),
    ("MemorySize=512", "Memory=512"),
    ("MemorySize=512", "MemorySize=500"),
]


class PoliciesOfSam:
    """The managed policies that SAM attaches by itself; asking AWS for the list would need an account."""

    def load(self):
        policies = {"AWSLambdaBasicExecutionRole": "service-role/", "AWSXrayWriteOnlyAccess": ""}
        return {name: f"arn:aws:iam::aws:policy/{path}{name}" for name, path in policies.items()}


def expand(text, parameters):
    template = yaml_parse(text)
    # `sam package` puts an S3 address here; the translator refuses a folder.
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/code.zip"
    return transform(template, parameters, PoliciesOfSam())


def snapshot(text):
    """The template with its defaults, and the lines that another value changes in SAM, as comments."""
    def show(parameters):
        return yaml.safe_dump(json.loads(json.dumps(expand(text, parameters))), width=140)

    whole = show({})
    shown = [whole]
    for key, value in VARIANTS.items():
        changed = difflib.unified_diff(whole.splitlines(), show({key: value}).splitlines(), lineterm="", n=0)
        lines = [line for line in changed if line[:2] not in ("--", "++", "@@")]
        shown += [f"# {key}={value}\n", *(f"# {line}\n" for line in lines)]
    return "".join(shown)


def faults(template, monitoring, samconfig):
    """Lines of cfn-lint about the expanded template with the values of every environment, and about the alarms."""
    environments = {name: value for name, value in tomllib.loads(samconfig).items() if name != "version"}
    overrides = {name: value["deploy"]["parameters"]["parameter_overrides"] for name, value in environments.items()}
    values = {name: dict(one.split("=", 1) for one in given) for name, given in overrides.items()}
    texts = {}
    for name, parameters in [*values.items(), *((key, {key: value}) for key, value in VARIANTS.items())]:
        expanded = expand(template, {key: value for key, value in parameters.items() if key in VARIANTS})
        for key, value in parameters.items():
            if key not in yaml_parse(template)["Parameters"]:
                yield f"samconfig.toml, {name}: the template has no parameter {key}"
                return
            # cfn-lint judges a default by what its parameter allows, and a reference by every value that it may have.
            declared = {"Type": "String"} if key in VARIANTS else expanded["Parameters"][key]
            value = int(value) if declared["Type"] == "Number" and value.isdigit() else value
            expanded["Parameters"][key] = {**declared, "Default": value}
        texts[f"template.yaml, {name}"] = json.dumps(expanded, indent=1)
    if "STRIPE_API_BASE" in template:
        yield "template.yaml: STRIPE_API_BASE is for tests; a key would be sent to that address"
    (nested,) = (r for r in expanded["Resources"].values() if r["Type"] == "AWS::CloudFormation::Stack")
    if different := set(nested["Properties"]["Parameters"]) ^ set(yaml_parse(monitoring)["Parameters"]):
        yield f"given to infra/monitoring.yaml or taken by it, and not both: {sorted(different)}"
    # W2001: SAM has already written in the parameters that only it reads. W3002: `sam package` replaces the path of the
    # stack below by an S3 address.
    config = ManualArgs(regions=["us-east-1"], ignore_checks=["W2001", "W3002"])
    for what, text in [*texts.items(), ("infra/monitoring.yaml", monitoring)]:
        for match in lint(text, config=config):
            yield f"{what}: {match.rule.id} {match.message[:160]}"


def first_fault(*texts):
    try:
        return next(faults(*texts), None)
    except Exception as error:  # the translator raises several kinds
        return f"SAM cannot expand it: {[getattr(c, 'message', c) for c in getattr(error, 'causes', None) or [error]]}"


def main():
    texts = [(ROOT / file).read_text() for file in ("template.yaml", "infra/monitoring.yaml", "samconfig.toml")]
    if found := first_fault(*texts):
        sys.exit(found)
    expanded = snapshot(texts[0])
    if "--renew" in sys.argv:
        SNAPSHOT.write_text(expanded)
    lines = [SNAPSHOT.read_text().splitlines(), expanded.splitlines()]
    if difference := list(difflib.unified_diff(*lines, "expanded.yaml", "template.yaml", lineterm="", n=2)):
        sys.exit("\n".join(difference) + "\nIf this is meant: python .ci/template/check.py --renew")
    for wrong, instead in MISTAKES:
        planted = [text.replace(wrong, instead, 1) for text in texts]
        found = first_fault(*planted)
        if planted == texts or not found:
            sys.exit(f"not found: {instead!r} instead of {wrong!r}")
        print(f"found {instead!r}: {found}")


if __name__ == "__main__":
    main()
