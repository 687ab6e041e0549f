"""Checks infra/openapi.json and the local server against each other.

    python .ci/openapi/test.py

Lints the document, generates TypeScript types, compiles and runs infra/docs/client.ts, and sends the local server what
schemathesis makes of the document. schemathesis is the one of the Python environment that runs this; the tools of npm are
installed below target/.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / ".ci" / "openapi"
WORK = ROOT / "target" / "openapi"
DOCUMENT = ROOT / "infra" / "openapi.json"
USER = "Thornwick"
LEAST_CASES = 2000
# A run takes one to two minutes; a server that no longer responds must not stop CI.
TIMEOUT = 900
# A field under another name, as in a client that was generated from another version.
RENAMED = ("custom_price", "customPrice")


def run(command, **options):
    print("$", " ".join(map(str, command)), flush=True)
    return subprocess.run(command, check=True, timeout=TIMEOUT, **options)


@contextmanager
def local_server():
    """The local server on a free port, with its ready line. Every request may name its own address."""
    # As in README.md: with `-p local` cargo would build other features of every crate.
    command = ["cargo", "run", "--locked", "--quiet", "--", "--port", "0", "--json", "--quiet", "--parameter",
               "TrustedProxies=127.0.0.1/32"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield json.loads(process.stdout.readline())
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=30)


def install():
    WORK.mkdir(parents=True, exist_ok=True)
    for name in ["package.json", "package-lock.json", "redocly.yaml", "tsconfig.json"]:
        shutil.copy(HERE / name, WORK / name)
    run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=WORK)


def tool(name):
    return WORK / "node_modules" / ".bin" / name


def lint():
    run([tool("redocly"), "lint", "--config", WORK / "redocly.yaml", "--max-problems", "1000", DOCUMENT],
        env={**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"})


def compile_client():
    sources = WORK / "ts"
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir()
    (sources / "package.json").write_text('{"type": "module"}')
    run([tool("openapi-typescript"), DOCUMENT, "-o", sources / "api.ts"])
    shutil.copy(ROOT / "infra" / "docs" / "client.ts", sources)
    run([tool("tsc"), "-p", WORK])
    shutil.copy(sources / "package.json", WORK / "js")
    types = sources / "api.ts"
    own = types.read_text()
    types.write_text(own.replace(*RENAMED))
    other = subprocess.run([tool("tsc"), "-p", WORK, "--noEmit"], timeout=TIMEOUT, capture_output=True, text=True)
    types.write_text(own)
    if other.returncode == 0 or RENAMED[0] not in other.stdout:
        sys.exit(f"a client of another version compiles: {other.stdout}")
    print("a client of another version does not compile")


def run_client(base_url):
    output = run(["node", WORK / "js" / "client.js", base_url], capture_output=True, text=True).stdout
    print(output)
    for expected in ["added ", "1 line,", "false This code does not exist.", "422 "]:
        if expected not in output:
            sys.exit(f"client.ts did not print {expected!r}")


def fuzz(ready):
    command = [Path(sys.executable).with_name("schemathesis"), "--config-file", HERE / "schemathesis.toml", "run",
               f"{ready['base_url']}/openapi.json", "--phases", "examples,coverage,fuzzing", "--max-examples", "40",
               "--seed", "20260615", "--continue-on-failure"]
    process = subprocess.run(command, cwd=WORK, timeout=TIMEOUT, capture_output=True, text=True,
                             env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "NO_COLOR": "1",
                                  "TOKEN": ready["tokens"][USER]})
    print(process.stdout[-12000:], process.stderr[-2000:])
    if process.returncode != 0:
        sys.exit("schemathesis found a failure")
    tested = re.search(r"Selected:\s*(\d+)/(\d+)\s*Tested:\s*(\d+)", process.stdout)
    cases = re.search(r"(\d+) generated", process.stdout)
    if not tested or len(set(tested.groups())) != 1:
        sys.exit("schemathesis did not test every operation")
    if not cases or int(cases.group(1)) < LEAST_CASES:
        sys.exit(f"schemathesis sent fewer than {LEAST_CASES} requests")


def main():
    install()
    lint()
    compile_client()
    with local_server() as ready:
        run_client(ready["base_url"])
        fuzz(ready)
    print("openapi: everything is as it should be")


if __name__ == "__main__":
    main()
