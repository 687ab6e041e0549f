"""infra/docs/performance.md, made of a run's figures and its verdicts."""

import datetime
import os
import platform
import re
import statistics
import subprocess
from pathlib import Path

from figures import HELLO, USER, middle

HEAD = """# Performance

Measured on {date} (UTC) by `python3 tests/bench/bench.py --peers --write`, which writes this page: do not edit it.
{machine}

The bench implements Lambda's Runtime API on loopback and starts the release binaries as Lambda does, with an embedded
engine behind TLS 1.3 in DynamoDB's place: {starts} fresh processes of each program, {invokes} warm invokes of each endpoint, in turns.
Bench, engine and program share the processors. There is no gateway, no network and no start of a sandbox, so that only
counts, sizes and ratios within the run can be compared with another machine.

## Budgets

The figure that uses most of each. `.ci/run` checks all of them, with the binaries that SAM built.

{budgets}
## Programs

Cold: init lasts from exec to the first request for work. The functions open their connection to the database in it, the
peers in their first invoke, so that only both together are what a cold start costs. Medians in milliseconds. Of a program
for an interpreter, the size is that of the bundle. Memory is the peak of the resident set after the warm invokes.

{programs}
## Warm

Every endpoint with its sample event, with the active version fresh and the page in the cache, in microseconds: by the
clock from handing over the event to the response, and the mean of the processor time. Calls and request units are counted
in front of the database; concurrent calls are one round trip. An outcome that cannot be repeated at will is only counted.

{warm}
The call of `{user}` on an open socket, without SDK, runtime or handler, takes {raw} µs (median; shortest {shortest}). The function
takes {times:.1f} times as long.
"""


def table(headings, rows):
    """A heading that begins with `<` is of a column of words, the others hold figures."""
    rule = ["---" if name.startswith("<") else "---:" for name in headings]
    lines = [[name.lstrip("<") for name in headings], *rows]
    return "".join(f"| {' | '.join(line)} |\n" + f"|{'|'.join(rule)}|\n" * (place == 0) for place, line in enumerate(lines))


def machine():
    """The machine and the versions of what ran on it."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    versions = []
    for program in ("rustc", "node", "python3"):
        try:
            versions.append(subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip())
        except FileNotFoundError:
            versions.append(f"no {program}")
    rustc, node, python = versions
    return (f"{model[1] if model else 'unknown'}, {os.cpu_count()} cores; Linux {platform.release()}; {rustc}; Node {node}; "
            f"{python}.")


def budgets(verdicts):
    worst = {}
    for one in verdicts:
        if one.what not in worst or one.value / one.limit > worst[one.what].value / one.limit:
            worst[one.what] = one
    digits = {one.what: 0 if one.what.endswith("bytes") else 2 for one in worst.values()}
    return ([one.what, f"{one.value:.{digits[one.what]}f}", one.of, f"{one.limit:.{digits[one.what]}f}"]
            for one in worst.values())


def programs(run):
    for one in run.programs:
        init, first = ([middle(times, which) / 1e6 for which in (0, 1)] for times in (one.init, one.first))
        alone = f"{one.init_cpu_alone() / 1e6:.2f}" if one.unconnected else "–"
        yield [one.name, f"{one.bytes / 1e6:.2f} MB", f"{one.zip_bytes / 1e6:.2f} MB", f"{one.peak_rss / 2**20:.1f} MiB",
               f"{init[1]:.2f}", alone, f"{first[1]:.2f}", f"{init[1] + first[1]:.2f}", f"{init[0] + first[0]:.2f}"]


def warm(run):
    hello = run.endpoint(HELLO, HELLO).cpu()
    for row in run.endpoints:
        cells = ["–"] * 5
        if row.times:
            wall = sorted(time[0] for time in row.times)
            figures = [wall[0], statistics.median(wall), wall[len(wall) * 99 // 100], row.cpu()]
            cells = [*(f"{figure / 1e3:.0f}" for figure in figures), f"{row.cpu() / hello:.1f}×"]
        trips, calls, reads, writes = row.cost
        yield [row.program, row.name, *cells, str(calls), str(trips), f"{reads:g}", f"{writes:g}"]


def page(run, verdicts):
    starts, invokes = run.rounds
    ours, raw = middle(run.endpoint("auth", USER).times, 0), statistics.median(run.raw)
    return HEAD.format(
        date=datetime.datetime.now(datetime.timezone.utc).date(), machine=machine(), starts=starts, invokes=invokes,
        budgets=table(["<budget", "figure", "<of", "at most"], budgets(verdicts)),
        programs=table(["<program", "binary", "zip", "memory", "init CPU", "without connection", "first invoke CPU", "both, CPU",
                        "both, wall"], programs(run)),
        warm=table(["<program", "<endpoint", "min", "median", "p99", "CPU", "of hello's", "calls", "round trips", "reads",
                    "writes"], warm(run)),
        user=USER, raw=round(raw / 1e3), shortest=round(run.raw[0] / 1e3), times=ours / raw)
