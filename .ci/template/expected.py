"""What template.yaml has to be, written a second time on purpose: nobody widens a role by one edit."""

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
    "LogLevel": (["error", "trace"], ["INFO", "off", ""]),
    "LogRetentionDays": (["1", "731"], ["2", "0"]),
    "DeletionProtection": (["true", "false"], ["yes", "True"]),
    "KeyRevision": (["1", "2024-06-01_b"], ["", "a b", "x" * 33]),
}

# Without origins and credentials, in which the two forms differ.
CORS = {
    "allowMethods": ["GET", "POST"],
    "allowHeaders": ["authorization", "content-type", "cache-control", "pragma", "expires", "if-none-match"],
    "exposeHeaders": ["etag", "retry-after", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
    "maxAge": 86400,
}

ROUTES = {
    "GET /categories/get": "CatalogFunction",
    "POST /categories/get": "CatalogFunction",
    "POST /categories/get/{url+}": "CatalogFunction",
    "POST /items/getFeaturedDeals": "CatalogFunction",
    "POST /cart/get": "CartFunction",
    "POST /cart/acceptCoupon": "CartFunction",
    "POST /cart/setReferral": "CartFunction",
    "POST /cart/removeReferral": "CartFunction",
    "POST /cart/getPromoted": "CartFunction",
    "POST /cart/getSelectServers": "CartFunction",
    "POST /payments/checkStatus": "PaymentsFunction",
    "POST /pages/get": "ContentFunction",
    "GET /staff": "ContentFunction",
    "GET /settings/get": "ContentFunction",
    "GET /patrons/get": "ContentFunction",
    "GET /auth/chat": "AuthFunction",
    "POST /user": "AuthFunction",
}

READ = ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
QUERY = [*READ, "dynamodb:Query"]
UPDATE = ["dynamodb:UpdateItem"]

# Per function its statements in order: actions, and the partition keys that they reach.
ACCESS = {
    "CatalogFunction": [
        (QUERY, ["STORE", "CATALOG#*", "COUNT#*", "USER#*", "LEDGER#*", "CART#*"]),
    ],
    "CartFunction": [
        (QUERY, ["STORE", "CATALOG#*", "ITEM#*", "COUNT#*", "USER#*", "LEDGER#*", "CODE#*", "USE#*", "REFERRAL#*",
                 "CART#*"]),
        (UPDATE, ["CART#*"]),
    ],
    "PaymentsFunction": [
        (READ, ["STORE", "ORDER#*", "USER#*"]),
        (UPDATE, ["RATE#*"]),
    ],
    "ContentFunction": [
        (QUERY, ["STORE", "CONTENT#*", "PAGE#*", "STATS", "PATRONS"]),
    ],
    "AuthFunction": [
        (READ, ["STORE", "USER#*"]),
    ],
}

ENVIRONMENT = {
    "TABLE_NAME": {"Ref": "StoreTable"},
    "CACHE_SECONDS": {"Ref": "CacheSeconds"},
    "LOG_LEVEL": {"Ref": "LogLevel"},
    "TOKEN_KEYS": {"Fn::Sub": "{{resolve:secretsmanager:${TokenKeys}:SecretString}}"},
    "KEY_REVISION": {"Ref": "KeyRevision"},
}
OWN_ENVIRONMENT = {"PaymentsFunction": {"TRUSTED_PROXIES": {"Ref": "TrustedProxies"}}}

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

DATA = {
    "AWS::DynamoDB::Table": {
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
    # To the letter: any other value here would make CloudFormation generate new keys at the next deploy.
    "AWS::SecretsManager::Secret": {
        "GenerateSecretString": {
            "SecretStringTemplate": "{}",
            "GenerateStringKey": "k1",
            "PasswordLength": 64,
            "ExcludePunctuation": True,
        },
    },
}
