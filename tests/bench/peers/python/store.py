"""The table, through the low-level client: items are read as they come."""

import os
import time
from typing import NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

LIMIT = 18
WINDOW_MILLIS = 60_000
ROUNDS = 3
READ_ROUNDS = 4
# How long after its window a counter is kept, in seconds.
KEPT_SECONDS = 3_600

TABLE = os.environ["TABLE_NAME"]
CACHE_SECONDS = int(os.environ["CACHE_SECONDS"])
# Connections are pooled and kept alive by default.
client = boto3.client("dynamodb", config=Config(retries={"mode": "standard"}))


class Hit(NamedTuple):
    """What became of a counted request."""

    allowed: bool
    remaining: int
    reset_seconds: int


class Unavailable(Exception):
    """The table did not get round to it."""


def hit(address, now):
    """Counts a request of `address` at `now` (milliseconds since 1970)."""
    for _ in range(ROUNDS):
        found = count(address, now) or open_window(address, now)
        if found:
            return found
    raise Unavailable("others kept opening windows")


def count(address, now):
    """Adds one to an open window that is not full; None where no window is open."""
    try:
        window = client.update_item(
            TableName=TABLE,
            Key=key(f"RATE#{address}", "RATE"),
            UpdateExpression="ADD hits :one",
            ConditionExpression="window_end > :now AND hits < :max",
            ExpressionAttributeValues={":one": number(1), ":now": number(now), ":max": number(LIMIT)},
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )["Attributes"]
        return place(True, int(window["hits"]["N"]), int(window["window_end"]["N"]), now)
    except client.exceptions.ConditionalCheckFailedException as error:
        old = error.response.get("Item")
        end = int(old["window_end"]["N"]) if old else 0
        return place(False, LIMIT, end, now) if end > now else None


def open_window(address, now):
    """Opens a window with this request in it; None if another request did so first."""
    end = now + WINDOW_MILLIS
    try:
        client.update_item(
            TableName=TABLE,
            Key=key(f"RATE#{address}", "RATE"),
            UpdateExpression="SET hits = :one, window_end = :end, expires_at = :ttl",
            ConditionExpression="attribute_not_exists(pk) OR window_end <= :now",
            ExpressionAttributeValues={
                ":one": number(1),
                ":end": number(end),
                ":now": number(now),
                ":ttl": number(end // 1000 + KEPT_SECONDS),
            },
        )
        return place(True, 1, end, now)
    except client.exceptions.ConditionalCheckFailedException:
        return None


def place(allowed, hits, end, now):
    return Hit(allowed, max(0, LIMIT - hits), max(1, -(-(end - now) // 1000)))


def order_and_user(order_id, user_id):
    """The order, and the user where there is one to read, strongly consistent."""
    keys = [key(f"ORDER#{order_id}", "ORDER")]
    if user_id is not None:
        keys.append(key(f"USER#{user_id}", "USER"))
    items = {item["sk"]["S"]: item for item in batch_get(keys)}
    return read_order(items.get("ORDER")), read_user(items.get("USER"))


def read_order(item):
    return item and {
        "id": int(item["id"]["N"]),
        "internal_id": item["internal_id"]["S"],
        "price": int(item["price"]["N"]),
        "currency": item["currency"]["S"],
        "status": item["status"]["S"],
        "gateway": item["gateway"]["S"],
        "created_at": int(item["created_at"]["N"]),
        "owner": item["owner"]["N"] if "owner" in item else None,
    }


def read_user(item):
    return item and {
        "id": item["id"]["N"],
        "tokens_valid_after": int(item["tokens_valid_after"]["N"]) if "tokens_valid_after" in item else 0,
    }


def batch_get(keys):
    items = []
    wanted = {TABLE: {"Keys": keys, "ConsistentRead": True}}
    for round_ in range(READ_ROUNDS):
        answer = client.batch_get_item(RequestItems=wanted)
        items += answer["Responses"].get(TABLE, [])
        wanted = answer["UnprocessedKeys"]
        if not wanted:
            return items
        time.sleep(0.02 * 2**round_)
    raise Unavailable("keys stayed unprocessed")


cached = (float("-inf"), None)


def fresh_digits():
    """Digits of the store's currency, unless they have to be read again."""
    read_at, digits = cached
    return digits if time.monotonic() - read_at < CACHE_SECONDS else None


def read_digits():
    """Reads the digits of the store's currency."""
    global cached
    read_at = time.monotonic()
    pointer = client.get_item(TableName=TABLE, Key=key("STORE", "POINTER")).get("Item")
    digits = int(pointer["config"]["M"]["digits"]["N"]) if pointer else 2
    cached = (read_at, digits)
    return digits


def is_passing(error):
    """Whether the same request may pass in a moment: throttled, timed out or away."""
    if isinstance(error, ClientError):
        throttled = ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded")
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return status >= 500 or error.response["Error"]["Code"] in throttled
    return isinstance(error, (Unavailable, ConnectionError, HTTPClientError))


def key(pk, sk):
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def number(value):
    return {"N": str(value)}
