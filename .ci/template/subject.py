"""The files that check.py checks: as text, as read, and expanded by SAM."""

import logging
import tomllib

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

import expected

# The translator counts its own calls, and complains at the end if the count was not fetched.
logging.getLogger("samtranslator.metrics.metrics").disabled = True

NAMED_ORIGINS = ["https://store.example.com", "http://localhost:3000"]


class Fault(Exception):
    """One thing that is wrong, in one sentence."""


class PoliciesOfSam:
    """The managed policies that SAM attaches by itself; asking AWS for the list would need an account."""

    def load(self):
        return {
            "AWSLambdaBasicExecutionRole": expected.LOGGING_POLICY,
            "AWSXrayWriteOnlyAccess": expected.TRACING_POLICY,
        }


class Subject:
    """The files under test: as text, as read, and expanded with the values that SAM itself looks at."""

    def __init__(self, template, monitoring, samconfig):
        self.text = template
        self.source = yaml_parse(template)
        self.monitoring_text = monitoring
        self.monitoring = yaml_parse(monitoring)
        self.samconfig = tomllib.loads(samconfig)
        self.any_origin = self.expand()
        self.named_origins = self.expand(AllowedOrigins=",".join(NAMED_ORIGINS))
        self.traced = self.expand(Tracing="Active")

    def expand(self, **parameters):
        template = yaml_parse(self.text)
        # `sam package` puts an S3 address here; the translator refuses a folder.
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::Serverless::Function":
                resource["Properties"]["CodeUri"] = "s3://bucket/code.zip"
        try:
            expanded = transform(template, parameters, PoliciesOfSam())
        except Exception as error:  # the translator raises several kinds
            causes = getattr(error, "causes", None) or [error]
            raise Fault("SAM cannot expand it: " + "; ".join(getattr(c, "message", str(c)) for c in causes)) from error
        # For cfn-lint, which judges a reference by every value that it may have.
        for name, value in parameters.items():
            expanded["Parameters"][name] = {"Type": "String", "Default": value}
        return expanded

    def resources(self, kind):
        """Logical id and resource of every expanded resource of one type."""
        return {i: r for i, r in self.any_origin["Resources"].items() if r["Type"] == kind}
