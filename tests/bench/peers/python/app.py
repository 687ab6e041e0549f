"""POST /payments/checkStatus, as the payments function answers it.

Clients and keys are made once, outside the handler; the connection is not: opening it during init is no custom of this
ecosystem. Calls run side by side in threads: boto3 knows no other way, and its clients are safe to share.
"""

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import body
import callers
import store

MESSAGES = {
    "PENDING": "The payment is pending.",
    "PAID": "The payment was received.",
    "FAILED": "The payment failed.",
    "CANCELLED": "The payment was cancelled.",
    "REFUNDED": "The payment was refunded.",
}

threads = ThreadPoolExecutor(max_workers=2)


def handler(event, context):
    http = event["requestContext"]["http"]
    if (http["method"], event["rawPath"]) != ("POST", "/payments/checkStatus"):
        return reply(404, {"message": "Not Found"})
    counting = threads.submit(store.hit, callers.counted_as(http["sourceIp"]), int(time.time() * 1000))
    try:
        answer = look_up(event)
    except Exception as error:
        answer = failed(event, error)
    try:
        hit = counting.result()
    except Exception as error:
        return failed(event, error)
    if not hit.allowed:
        message = f"Too many attempts. Please try again in {hit.reset_seconds} seconds."
        answer = label(429, "error", message, {"retry-after": str(hit.reset_seconds)})
    answer["headers"] |= {
        "ratelimit-limit": str(store.LIMIT),
        "ratelimit-remaining": str(hit.remaining),
        "ratelimit-reset": str(hit.reset_seconds),
    }
    return answer


def look_up(event):
    """The answer to a request that passes the limit."""
    try:
        order_id = body.order_id(event)
    except body.TooLarge as fault:
        return reply(413, {"message": str(fault)})
    except body.BodyFault as fault:
        return label(400, "error", str(fault))
    claims = callers.claims_of(event["headers"])
    digits = store.fresh_digits()
    reading = None if digits is not None else threads.submit(store.read_digits)
    order, user = store.order_and_user(order_id, claims and claims["sub"])
    if reading:
        digits = reading.result()
    if order is None:
        return label(200, "not_found", "This payment does not exist.")
    owner = order.pop("owner")
    if owner is None:
        return shown(order, digits)
    if user is None or claims["iat"] <= user["tokens_valid_after"]:
        return label(401, "error", "Unauthorized", {"www-authenticate": "Bearer"})
    if user["id"] != owner:
        return label(200, "forbidden", "This payment belongs to another account.")
    return shown(order, digits)


def shown(order, digits):
    whole, part = divmod(order["price"], 10**digits)
    order["price"] = order["price"] / 10**digits if part else whole
    created_at = datetime.fromtimestamp(order["created_at"], timezone.utc)
    order["created_at"] = created_at.strftime("%Y-%m-%d %H:%M:%S")
    return reply(200, {"status": "success", "message": MESSAGES[order["status"]], "order_data": order})


def failed(event, error):
    logging.error("the request failed", exc_info=error)
    if store.is_passing(error):
        message = "The store is busy at the moment. Please try again shortly."
        return reply(503, {"message": message}, {"retry-after": "1"})
    request_id = event["requestContext"]["requestId"]
    return reply(500, {"message": f"Internal error. If it happens again, name the request {request_id}."})


def label(status_code, status, message, headers=None):
    return reply(status_code, {"status": status, "message": message}, headers)


def reply(status_code, content, headers=None):
    return {
        "statusCode": status_code,
        "headers": {"content-type": "application/json", "cache-control": "no-store", **(headers or {})},
        "body": json.dumps(content, ensure_ascii=False, separators=(",", ":")),
    }
