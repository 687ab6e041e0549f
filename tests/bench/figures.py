"""The figures of a run, and the budgets that they are compared with. Times are nanoseconds, sizes bytes."""

import math
import statistics
from dataclasses import dataclass, field
from pathlib import Path

FUNCTIONS = sorted(folder.name for folder in (Path(__file__).resolve().parents[2] / "functions").iterdir())
# The runtime without a function; its one warm row has the same name.
HELLO = "hello"
# The endpoint that the peers have as well, and whose calls are replayed over a bare socket.
USER = "user"
# How often a run is repeated before a budget counts as missed.
ATTEMPTS = 3

# Bytes of a function's binary, and of what is uploaded; the most memory that it holds while warm: 10 MiB.
BYTES, ZIP, RSS = 7_800_000, 3_700_000, 10_485_760
# Processor time over a hello world's of the same run, and of what calls the database over that of USER, which calls it once: one
# call took 3.1 to 6.0 times a hello world, by machine. A third to a half more than what was measured, because runs of a busy
# machine differ by a quarter: they find a change that makes something slower. Absolute times depend on the machine, and are not
# judged; round trips are judged by tests/budget.rs.
INIT_CPU, FIRST_CPU, CACHED_CPU, USER_CPU, CALLS_CPU = 2.0, 5.2, 2.4, 8.0, 3.5


@dataclass
class Program:
    """A program that Lambda starts."""

    name: str
    bytes: int
    zip_bytes: int
    init: list = field(default_factory=list)  # (wall, cpu) from exec to the first request for work
    unconnected: list = field(default_factory=list)  # the same without a connection to the database
    first: list = field(default_factory=list)  # the first invoke
    peak_rss: int = 0

    def init_cpu_alone(self):
        return middle(self.unconnected or self.init, 1)


@dataclass
class Endpoint:
    """An endpoint, warm. One without times is only counted, because it cannot be repeated at will."""

    program: str
    name: str
    cost: tuple  # round trips, calls, read units, write units
    times: list = field(default_factory=list)

    def cpu(self):
        return statistics.fmean(cpu for _, cpu in self.times) if self.times else 0


@dataclass
class Run:
    programs: list
    endpoints: list
    raw: list  # the call of USER over a bare socket
    rounds: tuple

    def program(self, name):
        return next(program for program in self.programs if program.name == name)

    def endpoint(self, program, name):
        return next(row for row in self.endpoints if (row.program, row.name) == (program, name))


@dataclass
class Verdict:
    what: str
    of: str
    value: float
    limit: float

    @property
    def is_missed(self):
        return math.isnan(self.value) or self.value > self.limit


def middle(times, which):
    """The median of one of the two figures of each time."""
    return statistics.median(time[which] for time in times)


def judge(run):
    """Every budget, for every function and endpoint that it is about."""
    hello, verdicts = run.program(HELLO), []
    for one in map(run.program, FUNCTIONS):
        first = middle(one.first, 1) / middle(hello.first, 1)
        init = one.init_cpu_alone() / hello.init_cpu_alone()
        verdicts += [Verdict("binary, bytes", one.name, one.bytes, BYTES),
                     Verdict("zip, bytes", one.name, one.zip_bytes, ZIP),
                     Verdict("peak RSS warm, bytes", one.name, one.peak_rss, RSS),
                     Verdict("init CPU without connection / hello world's", one.name, init, INIT_CPU),
                     Verdict("first invoke CPU / hello world's", one.name, first, FIRST_CPU)]
    hello, user = run.endpoint(HELLO, HELLO).cpu(), run.endpoint("auth", USER).cpu()
    for row in run.endpoints:
        if row.program not in FUNCTIONS or not row.times:
            continue
        calls = row.cost[1] > 0
        if calls and row.name != USER:
            verdicts.append(Verdict(f"warm CPU / {USER}'s", row.name, row.cpu() / user, CALLS_CPU))
        else:
            limit = USER_CPU if calls else CACHED_CPU
            verdicts.append(Verdict("warm CPU / hello world's", row.name, row.cpu() / hello, limit))
    return verdicts


def summary(verdicts):
    """The verdicts on one line each, those that were missed last."""
    return "".join(f"{'MISSED' if one.is_missed else 'held':6} {one.what:44} {one.of:40} {one.value:>12.2f} of {one.limit:>12.2f}\n"
                   for one in sorted(verdicts, key=lambda one: one.is_missed))
