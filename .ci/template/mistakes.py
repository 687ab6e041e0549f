"""Typical mistakes, planted one at a time by check.py --self-test."""

import re
from dataclasses import dataclass

FILES = ("template.yaml", "infra/monitoring.yaml", "samconfig.toml")


@dataclass(frozen=True)
class Mistake:
    """Replaces the first match of `pattern` and names the check that has to notice."""

    name: str
    caught_by: str
    pattern: str
    replacement: str
    file: str = "template.yaml"

    def plant(self, *texts):
        """The texts of FILES with the mistake in one of them."""
        text = texts[FILES.index(self.file)]
        planted, count = re.subn(self.pattern, lambda _: self.replacement, text, count=1)
        if not count:
            raise SystemExit(f"FAULT self-test: nowhere to plant the mistake {self.name!r}")
        return [planted if file == self.file else text for file, text in zip(FILES, texts, strict=True)]


# The block that SAM cannot see through: credentials under a condition of their own.
CONDITIONAL_CREDENTIALS = """CorsConfiguration:
        AllowOrigins: !Split [",", !Ref AllowedOrigins]
        AllowCredentials: !If [AnyOrigin, false, true]
        AllowMethods: [GET, POST]
        AllowHeaders: [authorization, content-type, cache-control, pragma, expires, if-none-match]
        ExposeHeaders: [etag, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset]
        MaxAge: 86400
      DefaultRouteSettings:"""

ALL = [
    Mistake("a conditional AllowCredentials", "cors",
            r"(?s)CorsConfiguration: !If.*?DefaultRouteSettings:", CONDITIONAL_CREDENTIALS),
    Mistake("credentials for every origin", "cors", r'AllowOrigins: \["\*"\]',
            'AllowOrigins: ["*"]\n          AllowCredentials: true'),
    Mistake("a header in one form only", "cors", r"expires, if-none-match\]", "expires]"),
    Mistake("`*` together with a name", "parameters", r"\[\*\]\|https", "[*](,.*)?|https"),
    Mistake("two functions on one route", "expand", r"Method: POST, Path: /cart/setReferral",
            "Method: POST, Path: /cart/get"),
    Mistake("a wildcard action", "roles", r"Action: \[dynamodb:UpdateItem\]", 'Action: ["dynamodb:*"]'),
    Mistake("a wildcard resource", "roles", r"Resource: !If \[OwnTable.*\]", 'Resource: "*"'),
    Mistake("one action too many", "roles", r"Action: \[dynamodb:UpdateItem\]",
            "Action: [dynamodb:UpdateItem, dynamodb:DeleteItem]"),
    Mistake("content reading orders", "roles", r"PAGE#\*, STATS\]", 'PAGE#*, STATS, "ORDER#*"]'),
    Mistake("every partition key", "roles", r"LeadingKeys: \[CART#\*, \"RATE#code#\*\"\]",
            'LeadingKeys: ["*"]'),
    Mistake("payments counting logins", "roles",
            r'\n +ForAllValues:StringNotLike:\n +dynamodb:LeadingKeys: \["RATE#\*#\*"\]', ""),
    Mistake("ForAllValues without a guard", "roles",
            r'\n +"Null":\n +dynamodb:LeadingKeys: "false"', ""),
    Mistake("Null not quoted, which YAML takes for null", "roles", r'"Null":', "Null:"),
    Mistake("the package of another function", "functions", r"-p, cart", "-p, catalog"),
    Mistake("a function without the token keys", "functions", r"TOKEN_KEYS: ", "TOKEN_KEY: "),
    Mistake("one key instead of all", "functions", r":SecretString\}\}", ":SecretString:k1}}"),
    Mistake("payment keys for every function", "functions", r"        KEY_REVISION: !Ref KeyRevision",
            "        KEY_REVISION: !Ref KeyRevision\n        PAYMENT_KEYS: !Ref PaymentKeys"),
    Mistake("checkouts while payments are off", "functions", r"TAKES_PAYMENTS: !Ref Payments", 'TAKES_PAYMENTS: "true"'),
    Mistake("no keys for open orders while payments are off", "functions", r"PAYMENT_KEYS: !Sub .*", 'PAYMENT_KEYS: "{}"'),
    Mistake("payments writing outside of transactions", "roles",
            r"\n +ForAnyValue:StringEquals:\n +dynamodb:EnclosingOperation: .*", ""),
    Mistake("a sweep that a request could start", "schedule", r'"routeKey":"SCHEDULE payments/sweep","raw',
            '"routeKey":"POST /payments/checkStatus","raw'),
    Mistake("any rule may call the function", "schedule", r" +SourceArn: !GetAtt SweepSchedule.Arn\n", ""),
    Mistake("statistics that are minutes old", "schedule", r"rate\(1 minute\)", "rate(5 minutes)"),
    Mistake("no sweep for open orders", "conditions", r"SweepSchedule:\n    Type: AWS::Events::Rule\n",
            "SweepSchedule:\n    Type: AWS::Events::Rule\n    Condition: OwnDomain\n"),
    Mistake("another provider's address", "schedule", r"          TRUSTED_PROXIES: !Ref TrustedProxies\n",
            "          TRUSTED_PROXIES: !Ref TrustedProxies  # STRIPE_API_BASE\n"),
    Mistake("a table that a deploy may replace", "data", r"UpdateReplacePolicy: Retain", "UpdateReplacePolicy: Delete"),
    Mistake("a parameter in the secret", "data", r"GenerateStringKey: k1", "GenerateStringKey: !Ref KeyRevision"),
    Mistake("no point-in-time recovery", "data", r"PointInTimeRecoveryEnabled: true",
            "PointInTimeRecoveryEnabled: false"),
    Mistake("callers' addresses in the access log", "stage", r"\$context\.routeKey", "$context.identity.sourceIp"),
    Mistake("a fixed table name", "data", r"BillingMode:", "TableName: store\n      BillingMode:"),
    Mistake("a fixed function name", "names", r"Description: Logins and the caller",
            "FunctionName: auth\n      Description: Logins and the caller"),
    Mistake("a reference to nothing", "lint", r"Value: !Ref FunctionLogs", "Value: !Ref FunctionLog"),
    # A name that cfn-lint expects of SAM, and that SAM does not give: seen in the expanded template only.
    Mistake("a reference to a stage by a name that SAM does not give", "expanded lint", r"Value: !Ref FunctionLogs",
            "Value: !Ref StorefrontApiStage"),
    Mistake("a role that reaches every table", "roles", r"!GetAtt StoreTable.Arn, !Ref ExistingTable",
            '!GetAtt StoreTable.Arn, "*"'),
    Mistake("the stack's own table as well as the existing one", "conditions", r"    Condition: OwnTable\n", ""),
    Mistake("a domain that is always made", "conditions", r"    Condition: OwnDomain\n", ""),
    Mistake("a domain without a certificate", "rules", r"Assert: !Not \[!Equals \[!Ref CertificateArn",
            "Assert: !Not [!Equals [!Ref DomainName"),
    Mistake("a domain that leaves out the base path", "address", r" +ApiMappingKey: .*\n", ""),
    Mistake("a refusal that names nothing", "rules", r"DomainName needs CertificateArn, an issued", "It needs an issued"),
    Mistake("every table as an existing one", "parameters", r"table/\[A-Za-z0-9_\.-\]\{3,255\}", "table/.*"),
    Mistake("tracing that SAM cannot switch off", "roles", r"Tracing: !Ref Tracing", "Tracing: PassThrough"),
    Mistake("functions that do not know their stack", "functions", r"STACK_NAME: ", "STACK: "),
    Mistake("the function of another alarm", "monitoring", r"Cart: !Ref CartFunction", "Cart: !Ref CatalogFunction"),
    Mistake("a parameter that the alarms do not get", "monitoring", r"        SlowMilliseconds: !Ref SlowMilliseconds\n", ""),
    Mistake("an alarm that notifies no one", "monitoring", r"AlarmActions: \[!Ref Topic\]", "AlarmActions: []",
            file="infra/monitoring.yaml"),
    Mistake("an alarm without data that goes off", "monitoring", r"TreatMissingData: notBreaching",
            "TreatMissingData: breaching", file="infra/monitoring.yaml"),
    Mistake("an alarm only for some stacks", "monitoring", r"FailedRefundsAlarm:\n    Type: AWS::CloudWatch::Alarm\n",
            "FailedRefundsAlarm:\n    Type: AWS::CloudWatch::Alarm\n    Condition: Mailed\n", file="infra/monitoring.yaml"),
    Mistake("a sweep that stops unseen", "monitoring", r"TreatMissingData: breaching", "TreatMissingData: notBreaching",
            file="infra/monitoring.yaml"),
    Mistake("an alarm that nothing explains", "monitoring", r"deployment.md, TableThrottles", "deployment.md, Throttles",
            file="infra/monitoring.yaml"),
    Mistake("a comma too many in the dashboard", "monitoring", r'"start": "-PT3H",', '"start": "-PT3H",,',
            file="infra/monitoring.yaml"),
    Mistake("an alarm on nothing", "lint", r"MetricName: Latency\n", "MetricNam: Latency\n", file="infra/monitoring.yaml"),
    Mistake("an unknown parameter in samconfig", "samconfig", r"MemorySize=512", "Memory=512", file="samconfig.toml"),
    Mistake("a value in samconfig that is refused", "samconfig", r"MemorySize=512", "MemorySize=500",
            file="samconfig.toml"),
]
