"""What template.yaml has to be, written a second time on purpose: a role is not widened by one edit."""

# Attached by SAM to the role of every function. It may write to the account's logs and nothing else.
LOGGING_POLICY = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"

# Values that a parameter must take, and values that it must refuse.
VALUES = {
    "AllowedOrigins": (
        ["*", "https://store.example.com", "https://a.example,http://localhost:3000"],
        ["", "*,https://a.example", "https://a.example,*", "https://*", "a.example", "https://a.example/",
         "https://a.example, https://b.example", "https://A.example", "https://a.example,"],
    ),
    "TrustedProxies": (
        ["", "192.0.2.0/24", "10.0.0.0/8,2001:db8::/32", "::1/128", "255.255.255.255/32"],
        ["192.0.2.1", "0.0.0.0/0", "::/0", "192.0.2.0/33", "256.0.0.0/8", "2001:db8::/129", "192.0.2.0/24,",
         "192.0.2.0/24, 10.0.0.0/8", "proxy.example/24"],
    ),
    "ThrottleRate": (["1", "10000"], ["0", "10001", "many"]),
    "ThrottleBurst": (["1", "5000"], ["0", "5001"]),
    "CacheSeconds": (["0", "60"], ["61", "-1"]),
    "MemorySize": (["128", "1769"], ["127", "10240"]),
    "Architecture": (["arm64", "x86_64"], ["x86", "ARM64"]),
    "LogLevel": (["error", "info"], ["INFO", "debug", "off", ""]),
    "LogRetentionDays": (["1", "731"], ["2", "0"]),
    "DeletionProtection": (["true", "false"], ["yes", "True"]),
    "Payments": (["true", "false"], ["on", "True", ""]),
    "KeyRevision": (["1", "2024-06-01_b"], ["", "a b", "x" * 33]),
    "Tracing": (["Disabled", "Active"], ["PassThrough", "true", ""]),
    "Monitoring": (["true", "false"], ["yes", ""]),
    "AlarmEmail": (["", "night@store.example.com"], ["night", "a@b.example,c@d.example", "a b@store.example"]),
    "SlowMilliseconds": (["50", "10000"], ["49", "10001"]),
    "ConcurrencyLimit": (["10", "100000"], ["9", "1000000"]),
    "ExistingTable": (
        ["", "arn:aws:dynamodb:eu-central-1:123456789012:table/store-restored"],
        ["store-restored", "arn:aws:dynamodb:eu-central-1:123456789012:table/*",
         "arn:aws:dynamodb:eu-central-1:123456789012:table/a/index/b", "arn:aws:s3:::bucket"],
    ),
    "DomainName": (
        ["", "api.example.com", "a-b.store.example"],
        ["https://api.example.com", "api.example.com/", "API.example.com", "localhost", "-a.example.com", "*.example.com"],
    ),
    "CertificateArn": (
        ["", "arn:aws:acm:eu-central-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef"],
        ["none", "arn:aws:iam::123456789012:server-certificate/x"],
    ),
    "BasePath": (["", "api", "store/v1.0/api"], ["/api", "api/", "a//b", "a b", "https://a.example"]),
}

# Pairs of values that are right one by one and wrong together, and the rule that says so.
TOGETHER = [
    ({"DomainName": "api.example.com"}, "DomainNeedsCertificate"),
    ({"CertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef"},
     "CertificateNeedsDomain"),
    ({"BasePath": "api"}, "BasePathNeedsDomain"),
    ({"AlarmEmail": "night@store.example.com", "Monitoring": "false"}, "EmailNeedsMonitoring"),
]

CONDITIONS = {
    "AnyOrigin": {"Fn::Equals": [{"Ref": "AllowedOrigins"}, "*"]},
    "OwnTable": {"Fn::Equals": [{"Ref": "ExistingTable"}, ""]},
    "Monitored": {"Fn::Equals": [{"Ref": "Monitoring"}, "true"]},
    "OwnDomain": {"Fn::Not": [{"Fn::Equals": [{"Ref": "DomainName"}, ""]}]},
    "AtRoot": {"Fn::Equals": [{"Ref": "BasePath"}, ""]},
}
# What exists only under a condition. All else exists always.
CONDITIONAL = {
    "StoreTable": "OwnTable",
    "MonitoringStack": "Monitored",
    "Domain": "OwnDomain",
    "DomainMapping": "OwnDomain",
}

# The stack's own table, or the one that ExistingTable names.
TABLE_NAME = {"Fn::If": ["OwnTable", {"Ref": "StoreTable"},
                         {"Fn::Select": [1, {"Fn::Split": ["/", {"Fn::Sub": "${ExistingTable}/"}]}]}]}
TABLE_ARN = {"Fn::If": ["OwnTable", {"Fn::GetAtt": ["StoreTable", "Arn"]}, {"Ref": "ExistingTable"}]}

# Only while Tracing is Active.
TRACING_POLICY = "arn:aws:iam::aws:policy/AWSXrayWriteOnlyAccess"

# Handed on to infra/monitoring.yaml under their own names.
SAME_NAME = ["FunctionLogs", "ApiLogs", "AlarmEmail", "SlowMilliseconds", "ConcurrencyLimit"]
# Every alarm. Each notifies the topic when it goes off and when it is over, and is explained in infra/docs/deployment.md.
ALARMS = ["AutomaticRefundsAlarm", "BadSignaturesAlarm", "CartConflictsAlarm", "ConcurrencyAlarm", "FailedRefundsAlarm", "FunctionErrorsAlarm",
          "FunctionThrottlesAlarm", "OverdueOrdersAlarm", "PaidWithoutOrderAlarm", "PaymentDisputesAlarm",
          "PaymentReviewsAlarm", "ProviderErrorsAlarm", "ServerErrorsAlarm", "SlowAnswersAlarm", "SweepStoppedAlarm", "TableThrottlesAlarm"]
# Those that go off without data.
BREACHING = ["SweepStoppedAlarm"]

# Without origins and credentials, in which the two forms differ.
CORS = {
    "allowMethods": ["GET", "POST"],
    "allowHeaders": ["authorization", "content-type", "cache-control", "pragma", "expires", "if-none-match"],
    "exposeHeaders": ["etag", "retry-after", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
    "maxAge": 86400,
}

# tests/rights.rs holds that the functions use each of these.
READ = ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
QUERY = "dynamodb:Query"
UPDATE = ["dynamodb:UpdateItem"]

# Per function its statements in order: actions, and the partition keys that they reach. Keys after "not " are excepted.
ACCESS = {
    "CatalogFunction": [
        ([*READ, QUERY], ["STORE", "CATALOG#*", "ITEM#*", "COUNT#*", "USER#*", "LEDGER#*", "CART#*"]),
        (READ, ["CONTENT#*", "NAME#*", "USER#*", "LEDGER#*", "PATRONS"]),
    ],
    "CartFunction": [
        (READ, ["STORE", "CATALOG#*", "ITEM#*", "COUNT#*", "USER#*", "LEDGER#*", "CODE#*", "USE#*", "REFERRAL#*",
                "CART#*", "NAME#*", "BAN#*", "RATE#code#*"]),
        (UPDATE, ["CART#*", "RATE#code#*"]),
    ],
    "PaymentsFunction": [
        (READ, ["STORE", "CONTENT#*", "ITEM#*", "COUNT#*", "USER#*", "NAME#*", "BAN#*", "CHAT#*", "LEDGER#*", "CART#*",
                "CODE#*", "USE#*", "REFERRAL#*", "ORDER#*", "OPEN", "PROVIDER#*", "STATS", "PATRONS", "MONTH#*",
                "RATE#checkout#*"]),
        ([QUERY], ["OPEN", "PATRONS", "MONTH#*", "PAID"]),
        (["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"],
         ["COUNT#*", "USER#*", "NAME#*", "BAN#*", "CHAT#*", "LEDGER#*", "CART#*", "CODE#*", "USE#*", "ORDER#*", "OPEN",
          "PROVIDER#*", "STATS", "PATRONS", "MONTH#*", "PAID", "RATE#checkout#*"], "TransactWriteItems"),
        (UPDATE, ["RATE#*", "not RATE#*#*"]),
        (UPDATE, ["RATE#pay#*", "RATE#hold#*", "SEQ#order", "SEQ#user", "COUNT#*"]),
    ],
    "ContentFunction": [
        (["dynamodb:GetItem"], ["STORE", "CONTENT#*", "PAGE#*", "STATS"]),
    ],
    "AuthFunction": [
        (READ, ["STORE", "USER#*", "NAME#*", "BAN#*"]),
        (["dynamodb:PutItem", "dynamodb:ConditionCheckItem"], ["USER#*", "NAME#*", "BAN#*"], "TransactWriteItems"),
        (["dynamodb:PutItem"], ["CHAT#*"]),
        (UPDATE, ["RATE#login#*", "SEQ#user"]),
    ],
}

ENVIRONMENT = {
    "STACK_NAME": {"Ref": "AWS::StackName"},
    "TABLE_NAME": TABLE_NAME,
    "CACHE_SECONDS": {"Ref": "CacheSeconds"},
    "LOG_LEVEL": {"Ref": "LogLevel"},
    "TOKEN_KEYS": {"Fn::Sub": "{{resolve:secretsmanager:${TokenKeys}:SecretString}}"},
    "KEY_REVISION": {"Ref": "KeyRevision"},
}
OWN_ENVIRONMENT = {
    "PaymentsFunction": {
        "TRUSTED_PROXIES": {"Ref": "TrustedProxies"},
        # Only in the environment of this function. STRIPE_API_BASE is for tests and is nowhere in the template.
        "PAYMENT_KEYS": {"Fn::Sub": "{{resolve:secretsmanager:${PaymentKeys}:SecretString}}"},
        "TAKES_PAYMENTS": {"Ref": "Payments"},
    },
    "CartFunction": {"TRUSTED_PROXIES": {"Ref": "TrustedProxies"}},
    "AuthFunction": {
        "TRUSTED_PROXIES": {"Ref": "TrustedProxies"},
        "ALLOWED_ORIGINS": {"Ref": "AllowedOrigins"},
        "CHAT_SECRET": {"Fn::Sub": "{{resolve:secretsmanager:${ChatSecret}:SecretString}}"},
    },
}

FUNCTION = {
    "Runtime": "provided.al2023",
    "Handler": "bootstrap",
    "Architectures": [{"Ref": "Architecture"}],
    "MemorySize": {"Ref": "MemorySize"},
    "Timeout": 10,
    "LoggingConfig": {
        "LogGroup": {"Ref": "FunctionLogs"},
        "LogFormat": "JSON",
        "ApplicationLogLevel": "TRACE",
        "SystemLogLevel": "INFO",
    },
}

# What a function has instead of FUNCTION's value.
OWN_FUNCTION = {"PaymentsFunction": {"Timeout": 20}}

# Every resource of these types. They outlive the stack.
DATA = {
    "AWS::DynamoDB::Table": {
        "StoreTable": {
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "TimeToLiveSpecification": {"AttributeName": "expires_at", "Enabled": True},
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            "DeletionProtectionEnabled": {"Ref": "DeletionProtection"},
        },
    },
    # To the letter: any other value here would make CloudFormation replace a secret's content at the next deploy.
    "AWS::SecretsManager::Secret": {
        "TokenKeys": {
            "GenerateSecretString": {
                "SecretStringTemplate": "{}",
                "GenerateStringKey": "k1",
                "PasswordLength": 64,
                "ExcludePunctuation": True,
            },
        },
        "ChatSecret": {"SecretString": "{}"},
        "PaymentKeys": {"SecretString": "{}"},
    },
}

# The event that the schedule sends: how often, and the members that the function reads.
SCHEDULE = "rate(1 minute)"
SCHEDULE_ROUTE = "SCHEDULE payments/sweep"
