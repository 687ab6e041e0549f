"""What programs run against: the local server's database behind a front that speaks TLS 1.3 like DynamoDB and counts calls, and
Lambda's Runtime API for one process."""

import asyncio
import contextlib
import json
import os
import re
import ssl
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from programs import ROOT, WORK

# Distributions keep the roots that they trust in one of these. The bundle has them and ours: reading them is part of a start.
ROOTS = ["/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"]
READS = {"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"}
# Seconds that a process may take for anything.
TIMEOUT = 120
NEXT, INVOCATION = "/2018-06-01/runtime/invocation/next", "/2018-06-01/runtime/invocation/"
EVENT_HEAD = ("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nlambda-runtime-aws-request-id: "
              "8476a536-e9f4-11e8-9739-0242ac120002\r\nlambda-runtime-deadline-ms: 4102444800000\r\n"
              "lambda-runtime-invoked-function-arn: arn:aws:lambda:us-east-1:000000000000:function:bench\r\n"
              "lambda-runtime-trace-id: Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0\r\n"
              "content-length: {}\r\n\r\n")


async def read_message(reader):
    """The head and the body of a request or a response."""
    head = await reader.readuntil(b"\r\n\r\n")
    if length := re.search(rb"(?i)\r\ncontent-length: *(\d+)", head):
        return head, await reader.readexactly(int(length[1]))
    body = b""
    while re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
        size = int(await reader.readline(), 16)
        body += (await reader.readexactly(size + 2))[:-2]
        if size == 0:
            break
    return head, body


@contextlib.asynccontextmanager
async def serving(handle, **options):
    """Serves connections on a free port, which is yielded."""
    connections = set()

    async def connected(reader, writer):
        connections.add(asyncio.current_task())
        # The other end closed the connection or was killed, or all of it is over.
        with contextlib.suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, ssl.SSLError):
            await handle(reader, writer)
        writer.close()
        connections.discard(asyncio.current_task())

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 24, **options)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for connection in connections:
        connection.cancel()
    if connections:
        await asyncio.wait(connections)


class Front:
    """Passes calls on to the database at `endpoint`."""

    def __init__(self, endpoint):
        self.address = urlsplit(endpoint)
        self.delay, self.calls = 0, None
        name = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2", "-config", "/dev/null"]
        sign = ["openssl", "req", "-x509", *name, "-keyout"]
        self.root, self.bundle, leaf = WORK / "ca.pem", WORK / "ca-bundle.pem", WORK / "leaf.pem"
        commands = [[*sign, WORK / "ca.key", "-out", self.root, "-subj", "/CN=benchmark root", "-addext",
                     "basicConstraints=critical,CA:TRUE"],
                    [*sign, WORK / "leaf.key", "-out", leaf, "-subj", "/CN=localhost", "-CA", self.root, "-CAkey",
                     WORK / "ca.key", "-addext", "basicConstraints=critical,CA:FALSE", "-addext",
                     "subjectAltName=DNS:localhost"]]
        for command in commands:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        system = next((Path(path).read_text() for path in ROOTS if Path(path).exists()), "")
        self.bundle.write_text(system + self.root.read_text())
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
        self.tls.load_cert_chain(leaf, WORK / "leaf.key")

    async def serve(self, reader, writer):
        behind, ahead = await asyncio.open_connection(self.address.hostname, self.address.port, limit=1 << 24)
        try:
            while True:
                head, body = await read_message(reader)
                begun, calls, sent = time.perf_counter(), self.calls, body
                if self.delay:
                    await asyncio.sleep(self.delay)
                if calls is not None:
                    sent = json.dumps(json.loads(body) | {"ReturnConsumedCapacity": "TOTAL"}).encode()
                ahead.write(re.sub(rb"(?i)\r\ncontent-length: *\d+", b"\r\ncontent-length: %d" % len(sent), head) + sent)
                answer = b"".join(parts := await read_message(behind))
                if calls is not None:
                    calls.append((begun, time.perf_counter(), units(head, parts[1]), head, body))
                writer.write(answer)
        finally:
            ahead.close()

    async def cost(self, request):
        """Round trips, calls, read and write units of a request. The calls take as long as over a network, to be seen to be
        concurrent. One that was sent again, because its response was late, counts once: it has the same body."""
        self.delay, self.calls = 0.003, []
        await request
        self.delay, calls, self.calls = 0, self.calls, None
        calls = {call[4]: call for call in sorted(calls, reverse=True)}.values()
        trips, first_end = 0, 0
        for begun, ended, *_ in sorted(calls):
            trips, first_end = (trips + 1, ended) if begun >= first_end else (trips, min(first_end, ended))
        return trips, len(calls), sum(call[2][0] for call in calls), sum(call[2][1] for call in calls)

    async def recorded(self, request):
        """The first call of a request, as it was sent."""
        self.calls = []
        await request
        calls, self.calls = self.calls, None
        return calls[0][3] + calls[0][4]


def units(head, answer):
    """Read and write units that a call consumed."""
    consumed = json.loads(answer).get("ConsumedCapacity", [])
    total = sum(table["CapacityUnits"] for table in (consumed if isinstance(consumed, list) else [consumed]))
    is_read = re.search(rb"(?i)x-amz-target: *DynamoDB_\d+\.(\w+)", head)[1].decode() in READS
    return (total, 0) if is_read else (0, total)


class Sandbox:
    """A process as Lambda runs it: its requests for work, its responses, and when they came."""

    def __init__(self, program, environment):
        self.program, self.environment = program, environment
        self.said, self.events, self.handed_over = asyncio.Queue(), asyncio.Queue(), 0

    async def __aenter__(self):
        self.stack = contextlib.AsyncExitStack()
        port = await self.stack.enter_async_context(serving(self.serve))
        self.log = tempfile.TemporaryFile()
        environment = self.environment | {"AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{port}"}
        begun = time.perf_counter_ns()
        self.process = subprocess.Popen(self.program.command, env=environment, cwd=self.program.folder, stdout=self.log,
                                        stderr=self.log, stdin=subprocess.DEVNULL)
        at = (await self.next("poll"))[0]
        self.started = (at - begun, self.cpu())
        return self

    async def __aexit__(self, *_):
        self.process.kill()
        self.process.wait()
        await self.stack.aclose()

    async def serve(self, reader, writer):
        while True:
            head, body = await read_message(reader)
            at, path = time.perf_counter_ns(), head.split(b" ", 2)[1].decode()
            if path == NEXT:
                self.said.put_nowait(("poll", at, None))
                event = await self.events.get()
                writer.write(EVENT_HEAD.format(len(event)).encode() + event)
                self.handed_over = time.perf_counter_ns()
                continue
            is_answer = path.startswith(INVOCATION) and path.endswith("/response")
            self.said.put_nowait(("answer" if is_answer else "error", at, body))
            writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    async def next(self, wanted):
        try:
            kind, at, body = await asyncio.wait_for(self.said.get(), TIMEOUT)
        except TimeoutError:
            kind, at, body = "nothing", 0, b""
        if kind != wanted:
            self.log.seek(0)
            log = self.log.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"{self.program.name}: {kind} instead of {wanted}: {body}\n{log}")
        return at, body

    async def invoke(self, event):
        """The response to an event, and how long it took by the clock and of the process's processor time."""
        cpu = self.cpu()
        self.events.put_nowait(event)
        at, answer = await self.next("answer")
        await self.next("poll")
        return answer, (at - self.handed_over, self.cpu() - cpu)

    def cpu(self):
        """The processor time that all threads of the process have used (clock_getcpuclockid)."""
        return time.clock_gettime_ns(~self.process.pid << 3 | 2)

    def peak_rss(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) * 1024


class Stage:
    """The local server with the sample store, and the front before its database."""

    def __init__(self, server):
        command = [server, "--port", "0", "--json", "--quiet"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.server.stdout.readline() or "null") or exit(f"{server} did not start")
        self.front = Front(ready["dynamodb_endpoint"])
        # The keys with which the tokens of the event files are signed.
        self.token_keys, self.table = (ROOT / "events" / "token-keys.json").read_text(), ready["table"]

    @contextlib.asynccontextmanager
    async def opened(self):
        try:
            async with serving(self.front.serve, ssl=self.front.tls) as self.port:
                yield self
        finally:
            self.server.terminate()
            self.server.wait()

    def start(self, program, connected=True):
        """Starts a program as Lambda does. Without credentials a function does not use the database during init."""
        # The functions contain the public roots; the others read the machine's, with ours added.
        trusted = str(self.front.root if program.is_function else self.front.bundle)
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_LAMBDA_FUNCTION_NAME": program.name, "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256", "AWS_LAMBDA_LOG_GROUP_NAME": "bench",
            "AWS_LAMBDA_LOG_STREAM_NAME": "bench", "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_ENDPOINT_URL_DYNAMODB": f"https://localhost:{self.port}", "AWS_CA_BUNDLE": trusted,
            "TABLE_NAME": self.table, "TOKEN_KEYS": self.token_keys, "STACK_NAME": "bench", "LOG_LEVEL": "info"}
        if connected:
            # The session token is as long as a real one, because it is signed and sent with every request.
            environment |= {"SSL_CERT_FILE": trusted, "AWS_ACCESS_KEY_ID": "ASIAIOSFODNN7EXAMPLE",
                            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                            "AWS_SESSION_TOKEN": "x" * 700}
        return Sandbox(program, environment)
