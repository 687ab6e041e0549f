"""Who is calling: access tokens (JWT, HS256 alone) and addresses."""

import ipaddress
import json
import os
import re

import jwt

LONGEST = 4096
LARGEST_ID = 2**53 - 1
KEYS = json.loads(os.environ["TOKEN_KEYS"])
BEARER = re.compile(r"\s*bearer\s+(.*\S)\s*", re.IGNORECASE)
USER_ID = re.compile(r"0|[1-9][0-9]*")
OPTIONS = {"require": ["exp", "iat", "iss", "sub"], "verify_aud": False, "verify_iat": False, "verify_nbf": False}


def claims_of(headers):
    """The claims of the bearer token, if it is valid by the key it names, or by any where it names none."""
    bearer = BEARER.fullmatch(headers.get("authorization", ""))
    if not bearer or len(bearer[1]) > LONGEST:
        return None
    token = bearer[1]
    try:
        named = jwt.get_unverified_header(token).get("kid")
    except jwt.InvalidTokenError:
        return None
    for kid, secret in KEYS.items():
        if named in (None, kid):
            try:
                claims = jwt.decode(
                    token, secret, algorithms=["HS256"], issuer="storefront", leeway=60, options=OPTIONS
                )
            except jwt.InvalidTokenError:
                continue
            return claims if is_user_id(claims["sub"]) and isinstance(claims["iat"], int) else None
    return None


def is_user_id(text):
    """A user's id is written in one way only."""
    return USER_ID.fullmatch(text) is not None and int(text) <= LARGEST_ID


def counted_as(source_ip):
    """The text under which a caller is counted: the address, an IPv6 one by its /64."""
    try:
        address = ipaddress.ip_address(source_ip)
    except ValueError:
        return "unknown"
    if address.version == 4:
        return source_ip
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
