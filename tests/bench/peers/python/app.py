"""POST /user, as the function auth responds to it, in AWS's own loop (awslambdaric).

The client is made once, outside the handler; the connection is not: opening it during init is not customary in this
ecosystem.
"""

import base64
import hashlib
import hmac
import json
import os
import time
from datetime import datetime, timezone

import boto3

TABLE = os.environ["TABLE_NAME"]
KEYS = json.loads(os.environ["TOKEN_KEYS"])
client = boto3.client("dynamodb")


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def verified(token):
    """The claims of a token that is signed with the key it names, and valid now."""
    header, claims, signature = token.split(".")
    named = json.loads(decoded(header))
    expected = hmac.digest(KEYS[named["kid"]].encode(), f"{header}.{claims}".encode(), hashlib.sha256)
    claims = json.loads(decoded(claims))
    is_valid = named["alg"] == "HS256" and hmac.compare_digest(decoded(signature), expected)
    return claims if is_valid and claims["iss"] == "storefront" and claims["exp"] > time.time() else None


def handler(event, context):
    try:
        claims = verified(event["headers"]["authorization"].removeprefix("Bearer "))
    except (KeyError, ValueError):
        claims = None
    if not claims:
        return reply(401, {"message": "Unauthorized"})
    keys = [{"pk": {"S": f"USER#{claims['sub']}"}, "sk": {"S": "USER"}}]
    found = client.batch_get_item(RequestItems={TABLE: {"Keys": keys, "ConsistentRead": True}})["Responses"][TABLE]
    if not found or claims["iat"] <= int(found[0].get("tokens_valid_after", {"N": "0"})["N"]):
        return reply(401, {"message": "Unauthorized"})
    user = found[0]
    account = {"id": int(user["id"]["N"])}
    for name in ("username", "avatar", "system", "identificator", "uuid"):
        account[name] = user.get(name, {"S": ""})["S"]
    for name in ("created_at", "updated_at"):
        account[name] = datetime.fromtimestamp(int(user[name]["N"]), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return reply(200, account)


def reply(status_code, body):
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return {"statusCode": status_code, "headers": headers, "body": json.dumps(body)}
