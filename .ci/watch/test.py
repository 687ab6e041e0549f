"""Runs the functions as README.md says under "Run the functions themselves", and compares them with the local server.

    python .ci/watch/test.py

Starts `cargo run` with a data directory, `cargo lambda watch` on its database, sends the events of `events/` to both, and
invokes one event file per endpoint. cargo-lambda is the one of the Python environment that runs this.
"""

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Also finds cargo-lambda, which cargo looks for by that name.
PATH = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
# Of the sample store; the local server is its own.
STOREFRONT = "https://store.emberfall.example"
# Set by the function and not by the gateway before it.
HEADERS = ["content-type", "cache-control", "etag", "retry-after", "www-authenticate"]
# The two count separately: they see different addresses.
PRESENT = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]
# Of the gateway, the connection or the browser.
OWN = {"host", "origin", "content-length", "accept-encoding", "x-forwarded-for", "x-forwarded-port", "x-forwarded-proto",
       "x-amzn-trace-id"}
# Each is sent to the local server first, so that a write is done already when the responses of the two are compared. An event
# in base64 is the same request in another form.
EVENTS = {file: event for file in sorted((ROOT / "events").glob("*/*.json"))
          if not (event := json.loads(file.read_text()))["isBase64Encoded"]}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def running(command, environment, log, out=subprocess.PIPE):
    """A process and all that it starts, ended as Ctrl-C ends them."""
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=log, text=True,
                               start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def subject(token):
    """The user whose token this is."""
    try:
        claims = token.split(".")[1]
        return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"]
    except (IndexError, KeyError, ValueError):
        return None


def send(base, event, tokens, addresses):
    """Status, the headers that matter, and the body. `tokens` are those of the local server, by user."""
    http = event["requestContext"]["http"]
    # The local server does not have the key with which the state of the event is signed.
    query = re.sub(r"state=[^&]+", "state=y", event["rawQueryString"])
    target = urllib.parse.quote(event["rawPath"], safe="/%") + "?" * bool(query) + query
    body = event.get("body")
    request = urllib.request.Request(base + target, body and body.encode(), method=http["method"])
    for name, value in event["headers"].items():
        if name == "authorization":
            value = f"Bearer {tokens.get(subject(value), value.removeprefix('Bearer '))}"
        if name not in OWN:
            request.add_header(name, value)
    if "cookies" in event:
        request.add_header("cookie", "; ".join(event["cookies"]))
    try:
        response = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        text = response.read().decode()
        headers = {name: response.headers.get(name) for name in HEADERS}
        headers |= {name: name in response.headers for name in PRESENT}
        # cargo lambda adds what its own CORS varies by.
        headers["vary"] = "Origin" in response.headers.get_all("vary", [])
        # The local server has its own address before pictures, and as its storefront's; the tag differs with them.
        headers["etag"] = bool(headers["etag"])
        for address in addresses:
            text = text.replace(address, "")
        # The state of a chat login and its challenge are different every time, and so is a token, which has the time in it. The
        # local server has a chat platform of its own, which returns to it.
        text = re.sub(r"(state|code_challenge|redirect_uri)=[^&\"]+", r"\1=", text)
        text = re.sub(r"https?://[^\"?]+/authorize\?", "authorize?", text)
        return response.status, headers, re.sub(r"^\"ey[\w.-]+\"$", "a token", text)


def wait_for(base, process):
    """Until the port is open; the first request then waits for its function."""
    for _ in range(600):
        if process.poll() is not None:
            sys.exit(f"cargo lambda watch ended with {process.returncode}")
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", int(base.rsplit(":", 1)[1]))) == 0:
                return
        time.sleep(0.1)
    sys.exit("cargo lambda watch does not listen")


def compare(local, watched, tokens, shop):
    of_users = {subject(token): token for token in tokens.values()}
    addresses = [local, watched, shop, STOREFRONT]
    different = []
    for file, event in EVENTS.items():
        send(local, event, of_users, addresses)
        wanted, found = (send(base, event, of_users, addresses) for base in (local, watched))
        if found != wanted:
            different.append(f"{file.name}: cargo lambda watch responds\n{found}\nand the local server\n{wanted}")
    if different:
        sys.exit("\n".join(different))
    return f"{len(EVENTS)} requests to {len({event['routeKey'] for event in EVENTS.values()})} routes"


def invoke(watched, environment):
    # `<function>/<endpoint>.json`, one per endpoint, responds with the status that the file expects.
    # The webhook event of Stripe is signed for another time, the chat platform of the published store does not exist, and no
    # game server of it has the key of the events.
    files = [file for file, event in EVENTS.items() if "." not in file.stem
             and file.stem not in ("stripe_webhook", "chat_callback") and not re.search(r"/\d+-[0-9a-f]{40}/", event["rawPath"])]
    for file in files:
        command = ["cargo", "lambda", "invoke", file.parent.name, "--invoke-address", "127.0.0.1", "--invoke-port",
                   watched.rsplit(":", 1)[1], "--data-file", str(file.relative_to(ROOT))]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        try:
            status = json.loads(done.stdout)["statusCode"]
        except ValueError:
            status = f"{done.stdout}{done.stderr}"
        if status != EVENTS[file]["expected"]["status"]:
            sys.exit(f"{' '.join(command)}: {status}")
    return f"{len(files)} events"


def main():
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {"PATH": PATH}
    subprocess.run(["cargo", "build", "--locked", "--quiet"], cwd=ROOT, env=plain, check=True)
    with tempfile.TemporaryDirectory(prefix="watch-") as data, open(ROOT / "target" / "watch.log", "w") as log:
        with running(["cargo", "run", "--locked", "--quiet", "--", "--port", "0", "--data", data, "--json"], plain,
                     log) as server:
            ready = json.loads(server.stdout.readline())
            keys = json.loads(Path(data, "token-keys.json").read_text())
            # One process for both parts: the first key is the local server's, the second that of the event files.
            keys |= json.loads((ROOT / "events" / "token-keys.json").read_text())
            environment = plain | {
                "AWS_ENDPOINT_URL_DYNAMODB": ready["dynamodb_endpoint"], "TABLE_NAME": ready["table"],
                "AWS_REGION": "local", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
                "TOKEN_KEYS": json.dumps(keys),
                # As the local server has it, which also starts the stand-in for Stripe.
                "PAYMENT_KEYS": json.dumps({"stripe": {"key": "rk_test_standin", "webhook": ["whsec_standin"]}}),
                "STRIPE_API_BASE": ready["payments"],
                "CHAT_SECRET": ready["chat"]["chat_secret"],
                "ALLOWED_ORIGINS": STOREFRONT,
            }
            watched = f"http://127.0.0.1:{free_port()}"
            command = ["cargo", "lambda", "watch", "--wait", "-A", "127.0.0.1", "-P", watched.rsplit(":", 1)[1]]
            # No one reads what it prints: a pipe would fill up and stop it.
            with running(command, environment, log, log) as watch:
                wait_for(watched, watch)
                print(compare(ready["base_url"], watched, ready["tokens"], ready["shop"]))
                print(invoke(watched, environment))


if __name__ == "__main__":
    main()
