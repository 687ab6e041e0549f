"""Every function's role tries everything on every kind of item, its own and all others'.

What it may is read from template.yaml, so that it and the emulated account, which has what SAM made of it, have to agree.
"""

import re
from fnmatch import fnmatchcase

from botocore.exceptions import ClientError
from checks import expect, expect_equal
from cloud import ROOT
from samtranslator.yaml_helper import yaml_parse

# One or more partition keys of each kind in the table of shared/src/table/keys.rs. None of them holds an item.
KEYS = ["STORE", "VERSIONS", "FILES#v", "CONTENT#v#NONE", "PAGE#v#none", "CATALOG#v#NONE", "ITEM#v#0", "PRICES#0", "USER#0", "LEDGER#0",
        "CART#0", "CODE#none", "USE#none#0", "REFERRAL#none", "ORDER#none", "ORDERS#0", "RUN#none", "RATE#192.0.2.1",
        "RATE#login#192.0.2.1", "RATE#code#192.0.2.1", "RATE#code#2001:db8::/64", "RATE#2001:db8::/64", "COUNT#0",
        "STATS", "PATRONS", "MONTH#0000-00", "PAID", "SALES#0000-00", "SALES#DAY", "BALANCE#0000-00", "SEQ#user", "SEQ#order", "NAME#none", "BAN#none",
        "RATE#checkout#192.0.2.1", "RATE#pay#192.0.2.1", "RATE#hold#192.0.2.1", "UNFINISHED", "PAYMENT#none", "SUBSCRIPTION#none",
        "CHAT#none",
        "COMMAND#0", "QUEUE#0", "LEASE#0", "SERVER#none", "EXPIRY#none", "LOGIN#none", "LOGINS", "SEQ#command",
        "RATE#game#192.0.2.1", "NOTICES", "CREDIT#0", "TOPUP#none", "ADDRESS#none", "CARD#none"]
PATTERNS = (line.split("|")[2] for line in (ROOT / "shared/src/table/keys.rs").read_text().splitlines() if line.startswith("//! | "))
KINDS = {kind for pattern in PATTERNS for kind in re.findall(r"`([A-Z]+)[`#]", pattern)}
# Nothing else in the account.
ELSEWHERE = [
    ("secretsmanager", "list_secrets", {}),
    ("dynamodb", "list_tables", {}),
    ("s3", "list_buckets", {}),
    ("lambda", "list_functions", {}),
    ("iam", "list_roles", {}),
    ("cloudformation", "list_stacks", {}),
    ("sns", "list_topics", {}),
]
DENIED = {"AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException"}


# The single writes of a transaction, with the action that allows each.
TRANSACTED = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}


def attempts(table, pk):
    """Every action on one partition, by itself or in a transaction: operation, arguments, action, the attributes that it
    names, and whether it is in a transaction. A condition that cannot hold keeps allowed writes from writing."""
    key = {"pk": {"S": pk}, "sk": {"S": "nothing"}}
    never = {"ConditionExpression": "attribute_exists(pk)"}
    single = {
        "GetItem": {"TableName": table, "Key": key},
        "BatchGetItem": {"RequestItems": {table: {"Keys": [key]}}},
        "Query": {"TableName": table, "KeyConditionExpression": "pk = :pk", "Limit": 1,
                  "ExpressionAttributeValues": {":pk": {"S": pk}}},
        "UpdateItem": {"TableName": table, "Key": key, "UpdateExpression": "REMOVE nothing", **never},
        "PutItem": {"TableName": table, "Item": key, **never},
        "DeleteItem": {"TableName": table, "Key": key, **never},
        "BatchWriteItem": {"RequestItems": {table: [{"DeleteRequest": {"Key": key}}]}},
    }
    named = {"UpdateItem": {"pk", "sk", "nothing"}}
    for operation, arguments in single.items():
        yield operation, arguments, operation, named.get(operation, set()), False
    transacted = {**single, "ConditionCheckItem": {"TableName": table, "Key": key, **never}}
    for member, action in TRANSACTED.items():
        yield "TransactWriteItems", {"TransactItems": [{member: transacted[action]}]}, action, named.get(action, set()), True
    # An attribute that a statement may name, alone and with one that none may: with both, the update would make a key.
    for names in ["seen"], ["seen", "server"]:
        update = {**single["UpdateItem"], "UpdateExpression": "REMOVE " + ", ".join(f"#{name}" for name in names),
                  "ExpressionAttributeNames": {f"#{name}": name for name in names}}
        yield "TransactWriteItems", {"TransactItems": [{"Update": update}]}, "UpdateItem", {"pk", "sk", *names}, True


def access():
    """The statements of each function's role: actions, key patterns, excepted patterns, the attributes that they are limited to
    (none: all), and whether they are limited to transactions."""
    for name, resource in yaml_parse((ROOT / "template.yaml").read_text())["Resources"].items():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        yield name, [
            (statement["Action"], keys(condition, "ForAllValues:StringLike"), keys(condition, "ForAllValues:StringNotLike"),
             condition.get("ForAllValues:StringEquals", {}).get("dynamodb:Attributes"), "ForAnyValue:StringEquals" in condition)
            for policy in resource["Properties"]["Policies"] for statement in policy["Statement"]
            for condition in [statement["Condition"]]
        ]


def keys(condition, operator):
    return condition.get(operator, {}).get("dynamodb:LeadingKeys", [])


def reaches(patterns, excepted, pk):
    return any(fnmatchcase(pk, own) for own in patterns) and not any(fnmatchcase(pk, key) for key in excepted)


def refused(client, operation, arguments):
    try:
        getattr(client, operation)(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"] in DENIED
    return False


def snake(action):
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in action).lstrip("_")


def credentials(account, arn):
    """Those of a role, for as long as it trusts the account's owner, which the deployed role does not."""
    name = arn.rsplit("/", 1)[1]
    iam, sts = account.client("iam"), account.client("sts")
    deployed = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    trust = str(deployed).replace("'", '"')
    expect('"AWS"' not in trust and "lambda.amazonaws.com" in trust, f"{name} trusts another principal than Lambda")
    opened = trust.replace('"Service": ["lambda.amazonaws.com"]', '"AWS": "*"')
    iam.update_assume_role_policy(RoleName=name, PolicyDocument=opened)
    try:
        session = sts.assume_role(RoleArn=arn, RoleSessionName="trial")["Credentials"]
    finally:
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=trust)
    return {"aws_access_key_id": session["AccessKeyId"], "aws_secret_access_key": session["SecretAccessKey"],
            "aws_session_token": session["SessionToken"]}


def try_all(account, table, functions, elsewhere):
    """`functions`: physical name by logical id. Returns the numbers of attempts that were refused and let through."""
    expect_equal("the kinds of keys that are tried", sorted({pk.split("#")[0] for pk in KEYS}), sorted(KINDS))
    counts = {True: 0, False: 0}
    for function, statements in access():
        arn = account.client("lambda").get_function_configuration(FunctionName=functions[function])["Role"]
        session = credentials(account, arn)
        database = account.client("dynamodb", **session)
        for pk in KEYS:
            for operation, arguments, action, named, in_transaction in attempts(table, pk):
                may = any(f"dynamodb:{action}" in actions and reaches(patterns, excepted, pk) and (in_transaction or not enclosed)
                          and (attributes is None or named <= set(attributes))
                          for actions, patterns, excepted, attributes, enclosed in statements)
                was_refused = refused(database, snake(operation), arguments)
                what = f"{action} in a transaction" if in_transaction else action
                what = f"{what}, naming {sorted(named)}," if named else what
                expect_equal(f"whether {what} on {pk} is refused to {function}", was_refused, not may)
                counts[was_refused] += 1
        for service, operation, arguments in [*ELSEWHERE, *elsewhere, ("dynamodb", "scan", {"TableName": table})]:
            expect(refused(account.client(service, **session), operation, arguments),
                   f"{function} may {service}:{operation}")
            counts[True] += 1
    return counts[True], counts[False]
