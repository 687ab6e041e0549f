"""Runs the functions as README.md says under "Run the functions themselves", and compares them with the local server.

    python .ci/watch/test.py

Starts `cargo run` with a data directory, `cargo lambda watch` on its database, calls every route of template.yaml on both,
and invokes one event file per endpoint. cargo-lambda is the one of the Python environment that runs this.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Also finds cargo-lambda, which cargo looks for by that name.
PATH = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
# Set by the function and not by the gateway before it.
HEADERS = ["content-type", "cache-control", "etag", "retry-after", "www-authenticate"]
# The two count separately: they see different addresses.
PRESENT = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]
USER = "Thornwick"
# Method, path, body, and whether with a token. Each is sent to the local server first, so that a write is done already
# when the responses of the two are compared.
CALLS = [
    ("GET", "/categories/get", None, False),
    ("POST", "/categories/get", None, False),
    ("POST", "/categories/get/ranks", None, True),
    ("POST", "/categories/get/%2Franks%2F", None, True),
    ("POST", "/categories/get/nowhere", None, True),
    ("POST", "/items/getFeaturedDeals", None, False),
    ("POST", "/items/getFeaturedDeals", None, True),
    ("POST", "/cart/acceptCoupon", {"coupon": "hearth10"}, True),
    ("POST", "/cart/setReferral", {"ref_code": "lantern"}, True),
    ("POST", "/cart/get", None, True),
    ("POST", "/cart/get", None, False),
    ("POST", "/cart/getPromoted", None, True),
    ("POST", "/cart/getSelectServers", None, True),
    ("POST", "/cart/removeReferral", None, True),
    ("POST", "/payments/checkStatus", {"order_id": "ska237syhxydekce"}, False),
    ("POST", "/payments/get", None, True),
    # Without the keys of a provider nothing can be paid.
    ("POST", "/payments/create", {"paymentMethod": "Barter", "termsAndConditions": True, "privacyPolicy": True}, True),
    ("POST", "/payments/webhook/stripe", {}, False),
    ("POST", "/pages/get", {"url": "rules"}, True),
    ("POST", "/pages/get", {}, True),
    ("GET", "/staff", None, False),
    ("GET", "/settings/get", None, False),
    ("GET", "/patrons/get", None, False),
    ("GET", "/auth/chat", None, False),
    ("GET", "/auth/chat/callback?code=x&state=y", None, False),
    ("POST", "/user", None, True),
    ("POST", "/auth/username", {"username": "Watcher"}, False),
    ("GET", "/checkAccessibility", None, True),
    ("POST", "/items/get/103", None, True),
    ("POST", "/items/get/103", None, False),
    ("POST", "/cart/add/202", {"payment_type": 0, "promoted": 1}, True),
    ("POST", "/cart/reload/2", {"count": 5}, True),
    ("POST", "/cart/setVariable/3%20", {"var_id": 2, "var_value": "Ash"}, True),
    ("POST", "/cart/setSelectedServer/4", {"server_id": 2}, True),
    ("POST", "/cart/changePrice/6", {"price": "4.50"}, True),
    ("POST", "/cart/remove/1", None, True),
    ("POST", "/cart/removeCoupon", None, True),
    ("POST", "/cart/removeGiftcard", None, True),
    ("POST", "/cart/getGift", {"gift": "GLOW-7QXM-2K4D"}, False),
    ("POST", "/capture-referral", {"ref": "lantern"}, False),
    ("GET", "/profile/Thornwick", None, False),
    ("GET", "/announcement/get", None, False),
]


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


def send(base, method, path, body, token):
    """Status, the headers that matter, and the body."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"}, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
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
        # The local server has its own address before pictures.
        text = text.replace(base, "")
        # The state of a chat login and its challenge are different every time, and so is a token, which has the time in it.
        text = re.sub(r"(state|code_challenge)=[^&\"]+", r"\1=", text)
        return response.status, headers, re.sub(r"^\"ey[\w.-]+\"$", "a token", text)


def template_routes():
    found = re.findall(r'Method: (\w+), Path: (?:"([^"]+)"|([^"}]+))', (ROOT / "template.yaml").read_text())
    return {f"{method} {quoted or plain}" for method, quoted, plain in found}


def called_routes():
    parameters = {r"^(/categories/get)/.*": r"\1/{url+}", r"^(/profile)/.*": r"\1/{name}", r"^(/items/get)/.*": r"\1/{id}", r"^(/cart/add)/.*": r"\1/{id}",
                  r"^(/cart/(?:remove|reload|setVariable|setSelectedServer|changePrice))/.*": r"\1/{cid}"}
    routes = set()
    for method, path, _, _ in CALLS:
        path = path.split("?")[0]
        for pattern, route in parameters.items():
            path = re.sub(pattern, route, path)
        routes.add(f"{method} {path}")
    return routes


def watched_paths():
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    return set(manifest["workspace"]["metadata"]["lambda"]["watch"]["router"])


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


def compare(local, watched, token):
    for method, path, body, with_token in CALLS:
        call = (method, path, body, token if with_token else None)
        send(local, *call)
        wanted, found = send(local, *call), send(watched, *call)
        if found != wanted:
            sys.exit(f"{method} {path}: cargo lambda watch responds\n{found}\nand the local server\n{wanted}")
    return f"{len(CALLS)} requests to {len(called_routes())} routes"


def invoke(watched, environment):
    # `<function>/<endpoint>.json` is a success, one per endpoint.
    # The notice of Stripe is signed for another time.
    files = sorted(file for file in (ROOT / "events").glob("*/*.json")
                   if "." not in file.stem and file.stem != "stripe_webhook")
    for file in files:
        command = ["cargo", "lambda", "invoke", file.parent.name, "--invoke-address", "127.0.0.1", "--invoke-port",
                   watched.rsplit(":", 1)[1], "--data-file", str(file.relative_to(ROOT))]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        try:
            status = json.loads(done.stdout)["statusCode"]
        except ValueError:
            status = f"{done.stdout}{done.stderr}"
        if status != 200:
            sys.exit(f"{' '.join(command)}: {status}")
    return f"{len(files)} events"


def main():
    if called_routes() != template_routes():
        sys.exit(f"not called, or not in template.yaml: {called_routes() ^ template_routes()}")
    routed = {re.sub(r"\{(\w+)\+\}", r"{*\1}", route.split(" ")[1]) for route in template_routes()}
    if watched_paths() != routed:
        sys.exit(f"not in Cargo.toml for cargo lambda watch, or not in template.yaml: {watched_paths() ^ routed}")
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
                "CHAT_SECRET": ready["chat"]["chat_secret"], "ALLOWED_ORIGINS": ready["chat"]["allowed_origins"],
            }
            watched = f"http://127.0.0.1:{free_port()}"
            command = ["cargo", "lambda", "watch", "--wait", "-A", "127.0.0.1", "-P", watched.rsplit(":", 1)[1]]
            # Nobody reads what it prints: a pipe would fill up and stop it.
            with running(command, environment, log, log) as watch:
                wait_for(watched, watch)
                print(compare(ready["base_url"], watched, ready["tokens"][USER]))
                print(invoke(watched, environment))


if __name__ == "__main__":
    main()
