"""A second opinion on the database: the black-box tests against another DynamoDB than the embedded one.

    python .ci/dynamodb/test.py                  all tests
    python .ci/dynamodb/test.py races:: rows::   those whose name has one of these parts, as CI does with some

The other one is ministack, in the Python environment of .ci/deploy/requirements.txt. Its code has nothing in common with the
embedded engine's, so that the two cannot be wrong alike. Prints the tests that were skipped because they need that engine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci" / "deploy"))

from checks import Failed  # noqa: E402  the folder has to be known before
from cloud import Emulator  # noqa: E402


# These tests choose the call that fails by its place among the calls of a request, and compare whole tables between runs, both
# of which a slower database changes.
SKIPPED = "faults_wire::"


def main():
    with Emulator(enforced=False) as account:
        environment = {**os.environ, "TEST_DYNAMODB": account.endpoint, "AWS_REGION": account.region}
        command = ["cargo", "test", "--locked", "-q", "--workspace", "--test", "blackbox", "--", "--skip", SKIPPED, *sys.argv[1:]]
        done = subprocess.run(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    skipped = re.findall(r"^skipped .*$", done.stdout, re.MULTILINE)
    result = re.findall(r"^test result: .*$", done.stdout, re.MULTILINE)
    if done.returncode or not result:
        sys.exit(f"{done.stdout[-20_000:]}\nFAULT the black-box tests fail against ministack")
    print("\n".join([*skipped, *result]))


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"FAULT {failure}")
