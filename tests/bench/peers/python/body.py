"""The request's body: a JSON object of at most 16 KiB."""

import base64
import json

LARGEST_BODY = 16 * 1024
LONGEST_ID = 255


class BodyFault(Exception):
    """A body that is not looked at further."""


class TooLarge(BodyFault):
    """A body of more than 16 KiB."""


def order_id(event):
    """The order's id as it was sent."""
    sent = event.get("body") or ""
    content = base64.b64decode(sent) if event.get("isBase64Encoded") else sent.encode()
    if len(content) > LARGEST_BODY:
        raise TooLarge("The request body must not be larger than 16 KiB.")
    try:
        parsed = json.loads(content.decode(), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise BodyFault("The request body must be valid JSON.") from None
    if not isinstance(parsed, dict):
        raise BodyFault("The request body must be a JSON object.")
    text = parsed.get("order_id")
    if text is None:
        raise BodyFault("The order_id field is required.")
    if not isinstance(text, str):
        raise BodyFault("The order_id field must be a string.")
    if len(text) > LONGEST_ID:
        raise BodyFault(f"The order_id field must not be longer than {LONGEST_ID} characters.")
    if not text.strip():
        raise BodyFault("The order_id field is required.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BodyFault("The request body must be valid JSON.") from None
    return text


def refuse(name):
    """NaN and Infinity, which Python's reader would take."""
    raise ValueError(name)
