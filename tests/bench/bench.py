"""The benchmark: the functions are started as Lambda starts them (the Runtime API on loopback, a cleared environment, an embedded
DynamoDB behind TLS 1.3), and everything is timed, counted and compared with budgets. Needs Linux and openssl.

    python3 tests/bench/bench.py                    measure, and compare with the budgets
    python3 tests/bench/bench.py --peers --write    the peers as well; write infra/docs/performance.md
    python3 tests/bench/bench.py --quick            a first impression

It builds what it starts. A run takes some minutes; run nothing else at the same time.
"""

import argparse
import asyncio
import sys

sys.dont_write_bytecode = True

import programs  # noqa: E402  no byte code beside the sources
import report  # noqa: E402
from figures import ATTEMPTS, FUNCTIONS, HELLO, judge, summary  # noqa: E402
from measure import measured  # noqa: E402


async def main(options):
    """Measures, compares and writes. Whether every budget is held."""
    all_programs = [programs.function(name, options.built) for name in FUNCTIONS] + [programs.cargo(HELLO)]
    if options.peers:
        all_programs += [programs.node(), programs.python()]
    # A run that a busy machine disturbed is repeated; what has become slower is missed in all of them.
    for attempt in range(1, ATTEMPTS + 1):
        run = await measured(all_programs, options.server or programs.server(), (10, 400) if options.quick else (30, 2000))
        verdicts = judge(run)
        is_held = not any(verdict.is_missed for verdict in verdicts)
        if is_held:
            break
        print(f"{summary(verdicts)}attempt {attempt} of {ATTEMPTS} missed a budget", file=sys.stderr)
    page = report.page(run, verdicts)
    print(f"{page}\n{summary(verdicts)}")
    if options.write and is_held:
        (programs.ROOT / "infra" / "docs" / "performance.md").write_text(page)
    return is_held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measures the functions, and compares them with the budgets.")
    parser.add_argument("--peers", action="store_true", help="the peers as well (needs node, npm, pip)")
    parser.add_argument("--built", metavar="DIR", help="take the functions that `sam build` left in this folder")
    parser.add_argument("--server", metavar="FILE", help="the program with the database, such as target/debug/storefront")
    parser.add_argument("--quick", action="store_true", help="a third to a fifth of the rounds")
    parser.add_argument("--write", action="store_true", help="write infra/docs/performance.md; needs --peers")
    arguments = parser.parse_args()
    if arguments.write and not arguments.peers:
        parser.error("--write needs --peers")
    sys.exit(not asyncio.run(main(arguments)))
