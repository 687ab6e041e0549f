"""What the deployed functions wrote: one JSON line per request with its metrics, and nothing about anyone."""

import json

from checks import expect, expect_equal
from cloud import FUNCTIONS

FIELDS = {"request_id", "endpoint", "status", "outcome", "cold_start", "Duration", "DatabaseCalls"}


def lines(account, group):
    """The text of every event of a log group."""
    pages = account.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
    return [event["message"] for page in pages for event in page["events"]]


def check(account, group, stack, secrets):
    """`secrets` are texts that no line may hold. Returns the number of requests that were logged, and of lines of
    game servers."""
    written = lines(account, group)
    records = [json.loads(line) for line in written if line.startswith("{")]
    emitted = [record for record in records if "_aws" in record]
    # A game server has a line of its own, in the sweep.
    requests = [record for record in emitted if "server" not in record]
    expect_equal("the functions that logged a request", sorted({record["Function"] for record in requests}), FUNCTIONS)
    totals = {}
    for record in requests:
        expect(FIELDS <= set(record), f"a request's line lacks {sorted(FIELDS - set(record))}")
    for record in emitted:
        expect_equal("the stack of a metric", record["Stack"], stack)
        for directive in record["_aws"]["CloudWatchMetrics"]:
            expect_equal("the namespace of a metric", directive["Namespace"], "Storefront")
            named = [d for dimensions in directive["Dimensions"] for d in dimensions]
            expect(set(named) <= set(record) and "Stack" in named, f"dimensions {named} without values")
            for metric in directive["Metrics"]:
                value = record[metric["Name"]]
                totals[metric["Name"]] = totals.get(metric["Name"], 0) + (sum(value) if isinstance(value, list) else value)
    for name in ("Requests", "ClientErrors", "ColdStarts", "DatabaseCalls", "RateLimited", "CodesRefused", "Duration",
                 "DatabaseLatency"):
        expect(totals.get(name, 0) > 0, f"the metric {name} was never counted")
    expect_equal("the server errors", totals["ServerErrors"], 0)
    for secret in secrets:
        found = [line for line in written if secret.lower() in line.lower()]
        expect(not found, f"a line of the log contains a secret: {found[:1]}")
    return len(requests), len(emitted) - len(requests)
