"""The measurements: starts of fresh processes, endpoints on warm ones, and the raw call."""

import contextlib
import json
import socket
import ssl
import sys
import time
from asyncio import to_thread

from figures import FUNCTIONS, HELLO, USER, Endpoint, Program, Run
from programs import ROOT
from stage import Stage

# Requests from one address before the next: less than the limit of checkStatus.
PER_ADDRESS = 16
# Requests in a block; before the first one; and at the start of each that are not counted, because another program has just
# used the processor's caches.
BLOCK, WARM_UP, SETTLE = 50, 50, 10
# How often the calls of a request are counted, and the least is taken: one of a few also reads what has just become stale.
COUNTS = 3
STATUS = "payments/checkStatus"
SEND = "notices/send"


class Step:
    """The request of an event file, which counts against its address if it asks for an order's state."""

    visits = 0

    def __init__(self, name, file, token_of=None, body=None):
        self.name, self.event = name, event(file)
        if token_of:
            self.event["headers"]["authorization"] = event(token_of)["headers"]["authorization"]
        if body:
            self.event["body"] = json.dumps(body)

    async def ask(self, sandbox):
        """The times of the request. A machine that is too busy for the function's own timeout gets it again."""
        for _ in range(3):
            if self.name == STATUS:
                number = Step.visits // PER_ADDRESS
                address = f"100.{64 + (number >> 14) % 64}.{100 + (number >> 7) % 128}.{100 + number % 128}"
                self.event["requestContext"]["http"]["sourceIp"] = address
                Step.visits += 1
            answer, times = await sandbox.invoke(json.dumps(self.event).encode())
            response = json.loads(answer)
            if response["statusCode"] < 500:
                break
        if response["statusCode"] != 200 or response["body"].startswith('{"success":false'):
            raise RuntimeError(f"{self.name}: {answer[:400]}")
        return times


def event(file):
    if file == SEND:
        return json.loads((ROOT / "infra/local/src/sweep.json").read_text().replace("payments/sweep", SEND))
    event = json.loads((ROOT / "events" / f"{file}.json").read_text())
    event.pop("expected", None)
    return event


def cycles():
    """Every endpoint of the documented ones, the hello world, and the peers' one: a program and its requests. If a request changes
    the store, the next changes it back."""
    coupons = [Step("cart/acceptCoupon", "cart/accept_coupon", body={"coupon": code}) for code in ("EIGHTH", "hearth10")]
    referral = [Step("cart/removeReferral", "cart/remove_referral"),
                Step("cart/setReferral", "cart/set_referral", token_of="cart/remove_referral")]
    one = {"content": [("settings/get", "get_settings"), ("pages/get", "get_page"), ("staff", "list_staff"),
                       ("patrons/get", "list_patrons")],
           "catalog": [("categories/get", "list_categories"), ("categories/get/{url}", "get_category"),
                       ("items/getFeaturedDeals", "get_featured_deals.logged_in")],
           "cart": [("cart/get, with a code applied", "get"), ("cart/getPromoted", "get_promoted"),
                    ("cart/getSelectServers", "get_select_servers")],
           "payments": [(STATUS, "check_status")],
           "auth": [(USER, "user"), ("auth/chat", "chat")]}
    return [*((program, [Step(name, f"{program}/{file}")]) for program, steps in one.items() for name, file in steps),
            ("cart", coupons), ("cart", referral), (HELLO, [Step(HELLO, "auth/user")]),
            *((peer, [Step(USER, "auth/user")]) for peer in ("node", "python"))]


# The first request to a program.
FIRST = {"catalog": ("categories/get/{url}", "catalog/get_category"), "cart": ("cart/get", "cart/get"),
         "content": ("settings/get", "content/get_settings"), "payments": (STATUS, "payments/check_status"),
         "delivery": ("plugin/profile", "delivery/profile.without_key"), "notices": (SEND, SEND)}


def turns(all_of_them, turn):
    """In an order that changes from turn to turn, so that a program does not always find the processor's caches full of the same
    other one: squares modulo a prime, so that no two stay neighbours."""
    return [one for _, one in sorted(enumerate(all_of_them), key=lambda at: (at[0] + 1) * (at[0] + 1 + turn * 31) % 997)]


async def measured(programs, server, rounds):
    async with Stage(server).opened() as stage:
        figures = [Program(program.name, *program.sizes()) for program in programs]
        await cold(stage, list(zip(programs, figures)), rounds[0])
        endpoints = await warm(stage, list(zip(programs, figures)), rounds[1])
        auth = next(program for program in programs if program.name == "auth")
        return Run(figures, endpoints, await raw(stage, auth, rounds[1]), rounds)


async def cold(stage, programs, rounds):
    print("measuring: cold", file=sys.stderr)
    # The first round warms the machine's caches and is not counted.
    for turn in range(rounds + 1):
        for program, figures in turns(programs, turn):
            if program.is_function:
                async with stage.start(program, connected=False) as sandbox:
                    figures.unconnected += [sandbox.started] * (turn > 0)
            async with stage.start(program) as sandbox:
                first = await Step(*FIRST.get(program.name, (USER, "auth/user"))).ask(sandbox)
                figures.init += [sandbox.started] * (turn > 0)
                figures.first += [first] * (turn > 0)


async def warm(stage, programs, rounds):
    """Every program's requests, each at least `rounds` times, in blocks that take turns: a busy moment affects all of them."""
    print("measuring: warm", file=sys.stderr)
    async with contextlib.AsyncExitStack() as stack:
        sandboxes = {program.name: await stack.enter_async_context(stage.start(program)) for program, _ in programs}
        work, endpoints = [cycle for cycle in cycles() if cycle[0] in sandboxes], {}
        for program, steps in work:
            await count(stage.front, program, sandboxes[program], steps, endpoints)
        for turn in range(-(-rounds // BLOCK)):
            for program, steps in turns(work, turn):
                for number in range(SETTLE + BLOCK):
                    step = steps[number % len(steps)]
                    times = await step.ask(sandboxes[program])
                    endpoints[program, step.name].times += [times] * (number >= SETTLE)
        for program, figures in programs:
            figures.peak_rss = sandboxes[program.name].peak_rss()
        return list(endpoints.values())


async def count(front, program, sandbox, steps, endpoints):
    """Warms requests up, and counts what they ask of the database."""
    for _ in range(WARM_UP):
        for step in steps:
            await step.ask(sandbox)
    for _ in range(COUNTS):
        Step.visits += -Step.visits % PER_ADDRESS
        for step in steps:
            for name in [f"{STATUS}, first of a window"] * (step.name == STATUS) + [step.name]:
                cost = await front.cost(step.ask(sandbox))
                row = endpoints.setdefault((program, name), Endpoint(program, name, cost))
                row.cost = min(row.cost, cost)


async def raw(stage, auth, rounds):
    """The call of POST /user over a bare TLS connection, without SDK, runtime or handler."""
    print("measuring: the raw call", file=sys.stderr)
    step = Step(USER, "auth/user")
    async with stage.start(auth) as sandbox:
        await step.ask(sandbox)
        request = await stage.front.recorded(step.ask(sandbox))
    return await to_thread(replay, stage, request, rounds)


def replay(stage, request, rounds):
    times, context = [], ssl.create_default_context(cafile=stage.front.root)
    with socket.create_connection(("127.0.0.1", stage.port)) as bare:
        bare.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(bare, server_hostname="localhost") as connection:
            reader = connection.makefile("rb")
            for _ in range(WARM_UP + rounds):
                begun = time.perf_counter_ns()
                connection.sendall(request)
                head = b"".join(iter(reader.readline, b"\r\n")).lower()
                assert head.startswith(b"http/1.1 200"), head
                reader.read(int(head.split(b"content-length:")[1].split()[0]))
                times.append(time.perf_counter_ns() - begun)
    return sorted(times[WARM_UP:])
