"""Holds that every command block of README.md is run by a step of .ci/run: a new or changed block needs a line here."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The commands of a block, without comments, and the step of .ci/run that runs them or an equivalent.
STEPS = {
    "cargo run": "watch",
    "cargo test --workspace": "test cargo test --workspace",
    "sam build\nsam deploy --guided": "deploy",
    "cargo run -p storectl -- publish infra/sample-store --stack storefront-dev": "deploy",
    "cargo run -- --data ./data --json": "watch",
    "export AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:…\n"
    "export TABLE_NAME=StoreTable AWS_REGION=local AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local\n"
    'export TOKEN_KEYS="$(cat data/token-keys.json)"\n'
    "cargo lambda watch --wait -A 127.0.0.1 -P 9000": "watch",
    "curl http://127.0.0.1:9000/categories/get": "watch",
    'export TOKEN_KEYS="$(cat events/token-keys.json)"\n'
    "cargo lambda invoke cart --data-file events/cart/get.json": "watch",
    "python3 tests/bench/bench.py": "budgets",
}


def main():
    blocks = re.findall(r"^```\w*\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    found = {"\n".join(line.split("  #")[0].strip() for line in block.strip().splitlines()) for block in blocks}
    run = (ROOT / ".ci" / "run").read_text()
    faults = [f"no step runs this block of README.md:\n{block}" for block in found - set(STEPS)]
    faults += [f"README.md has no such block any more:\n{block}" for block in set(STEPS) - found]
    faults += [f".ci/run has no step {step!r}" for step in set(STEPS.values()) if f'"{step}"' not in run]
    sys.exit("\n".join(faults) or None)


if __name__ == "__main__":
    main()
