"""What ministack's CloudFront leaves out: it does not reach an API of API Gateway, and it keeps nothing. Both are added here, by
the policies of the deployed distribution and as AWS documents them (CloudFront Developer Guide, "Manage how long content stays in
the cache"). What is kept, and what an expired copy is good for, is in `Keeper`. And a secret is not read for a distribution in a stack
below another.

The edge has a clock that tests stop: its time is in the file EDGE_CLOCK.
"""

import contextvars
import fnmatch
import os
import re
import time
from pathlib import Path
from urllib.parse import parse_qsl

from ministack.services import cloudfront
from ministack.services.cloudformation import engine, provisioners

API = re.compile(r"([a-z0-9]+)\.execute-api\.[a-z0-9-]+\.amazonaws\.com")
# As the emulator names the hosts of its APIs.
HERE = ".execute-api.localhost"
# Kept for ten seconds, unless the distribution says otherwise.
ERRORS = {400, 403, 404, 405, 414, 500, 501, 502, 503, 504}

behaviour = contextvars.ContextVar("behaviour")


def now():
    return float(Path(os.environ["EDGE_CLOCK"]).read_text() or time.time())


def to_api(forward):
    def forwarded(origin, *rest):
        api = API.fullmatch(origin["domain_name"])
        return forward({**origin, "domain_name": f"{api[1]}{HERE}"} if api else origin, *rest)

    return forwarded


def to_emulator(target_of):
    def target(origin, is_https):
        if origin["domain_name"].endswith(HERE):
            return "127.0.0.1", int(os.environ["GATEWAY_PORT"]), False
        return target_of(origin, is_https)

    return target


def with_secrets(config_of):
    def config(properties, *rest):
        return config_of(engine._resolve_dynamic_references(properties)[0], *rest)

    return config


def remembered(predicates_of):
    def predicates(chosen):
        behaviour.set(chosen)
        return predicates_of(chosen)

    return predicates


def directives(headers):
    """Those of `Cache-Control`, with the seconds that they have."""
    found = re.findall(r"([a-z-]+)(?:=(\d+))?", str(headers.get("cache-control", "")).lower())
    return {name: int(seconds) if seconds else None for name, seconds in found}


def error_seconds(distribution, status):
    """How long an error is kept at least."""
    config = cloudfront._dist_config_el(distribution)
    for response in config.iter():
        if cloudfront._local_tag_name(response) == "CustomErrorResponse":
            if int(cloudfront._text(response, "ErrorCode")) == status:
                return int(cloudfront._text(response, "ErrorCachingMinTTL", "10"))
    return 10 if status in ERRORS else None


def in_key(kind, names, values):
    """The values that a cache policy takes into the key."""
    if kind in ("all", "none"):
        return sorted(values) if kind == "all" else []
    listed = [(name, value) for name, value in values if any(fnmatch.fnmatch(name.lower(), one.lower()) for one in names)]
    return sorted(listed if kind == "whitelist" else set(values) - set(listed))


class Keeper:
    """The cache of all distributions."""

    def __init__(self, fetch):
        self.fetch = fetch
        # Key -> the response, when it came, and until when it is fresh, and may be used while it is fetched again.
        self.kept = {}

    async def __call__(self, origin, method, uri, query, headers, *rest):
        policy_id = behaviour.get()["cache_policy_id"]
        policy = (cloudfront._cache_policies.get(policy_id) or cloudfront._MANAGED_CACHE_POLICIES[policy_id])["Config"]
        if method not in ("GET", "HEAD") or policy["MaxTTL"] == 0:
            return await self.fetch(origin, method, uri, query, headers, *rest)
        known = headers.get("if-none-match")
        headers = {name: value for name, value in headers.items() if name != "if-none-match"}
        of, cookies = policy["Parameters"], [tuple(pair.split("=", 1)) for pair in headers.get("cookie", "").split("; ") if pair]
        key = (rest[-1], origin["id"], method, uri, str(in_key(of["HeaderBehavior"], of["Headers"], list(headers.items()))),
               str(in_key(of["CookieBehavior"], of["Cookies"], cookies)),
               str(in_key(of["QueryStringBehavior"], of["QueryStrings"], parse_qsl(query))))

        async def renew():
            return await self.renewed(key, policy, origin, method, uri, query, headers, *rest)

        entry, at = self.kept.get(key), now()
        is_kept = bool(entry) and at < entry["stale"]
        response = entry["response"] if is_kept else await renew()
        if is_kept and at >= entry["fresh"]:
            await renew()
        status, reason, found, body = response
        found = {**found, **({"age": str(int(at - entry["at"]))} if is_kept else {})}
        tag = found.get("etag", "")
        if status == 200 and known and tag and tag.removeprefix("W/") in known:
            return 304, "Not Modified", {**found, "content-length": "0"}, b""
        return status, reason, found, body

    async def renewed(self, key, policy, origin, method, uri, query, headers, *rest):
        """Fetches a response, or learns that the one it has is still right."""
        entry = self.kept.pop(key, None)
        if entry and "etag" in entry["response"][2]:
            headers = {**headers, "if-none-match": entry["response"][2]["etag"]}
        response = status, _, found, _ = await self.fetch(origin, method, uri, query, headers, *rest)
        if status == 304 and entry:
            found = {name: value for name, value in found.items() if name != "content-length"}
            response = (*entry["response"][:2], {**entry["response"][2], **found}, entry["response"][3])
        said = directives(found)
        seconds = said.get("s-maxage", said.get("max-age"))
        if status >= 400:
            (distribution,) = (one for one in cloudfront._distributions.values() if one["ARN"] == rest[-1])
            least = error_seconds(distribution, status)
            fresh, stale = (0 if least is None else max(least, seconds or 0)), 0
        else:
            # What must not be kept is kept for the least time of the policy all the same.
            refused = {"no-store", "no-cache", "private"} & said.keys()
            wanted = 0 if refused else policy["DefaultTTL"] if seconds is None else seconds
            fresh = min(max(wanted, policy["MinTTL"]), policy["MaxTTL"])
            stale = min(said.get("stale-while-revalidate") or 0, policy["MaxTTL"])
        if fresh + stale > 0:
            at = now()
            self.kept[key] = {"response": response, "at": at, "fresh": at + fresh, "stale": at + fresh + stale}
        return response


def add():
    provisioners._cf_distribution_config = with_secrets(provisioners._cf_distribution_config)
    cloudfront._forward_to_origin = to_api(cloudfront._forward_to_origin)
    cloudfront._origin_connect_target = to_emulator(cloudfront._origin_connect_target)
    cloudfront._forwarding_predicates = remembered(cloudfront._forwarding_predicates)
    cloudfront._fetch_from_origin = Keeper(cloudfront._fetch_from_origin)
