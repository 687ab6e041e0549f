"""An AWS account, and an emulated one that is started and stopped: the SDK, and the SAM command line tool."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import boto3
import gateway
from botocore.config import Config
from checks import Failed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FUNCTIONS = sorted(folder.name for folder in (ROOT / "functions").iterdir())
REGION = "eu-central-1"
WORK = ROOT / "target" / "deploy"


def tool(name):
    """A command line tool of this Python environment."""
    return str(Path(sys.executable).with_name(name))


class Account:
    """An AWS account, reached with the credentials and the region of an environment."""

    endpoint = None
    # The port of an emulator on this machine.
    port = None

    def __init__(self, environment, region):
        self.region = region
        # Not the project's samconfig.toml, which has other parameters.
        self.home = tempfile.TemporaryDirectory(prefix="account-")
        self.config = Path(self.home.name, "samconfig.toml")
        self.config.write_text("version = 0.1\n")
        self.environment = {**environment, "AWS_REGION": region, "AWS_DEFAULT_REGION": region, "SAM_CLI_TELEMETRY": "0",
                            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.home.cleanup()

    def client(self, service, **credentials):
        """An SDK client, as the account's owner unless other credentials are given."""
        session = boto3.Session(profile_name=self.environment.get("AWS_PROFILE"))
        config = Config(retries={"max_attempts": 5, "mode": "standard"}, connect_timeout=5, read_timeout=60)
        return session.client(service, region_name=self.region, config=config, **credentials)

    def import_api(self, stack):
        """What CloudFormation leaves to do for the API of a deployed stack."""

    def run(self, *command, fails=False):
        """Runs a command against the account and returns what it printed. `fails` expects it to."""
        done = subprocess.run(list(map(str, command)), cwd=ROOT, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if (done.returncode != 0) != fails:
            tail = "\n".join(done.stdout.splitlines()[-25:])
            raise Failed(f"{' '.join(map(str, command))} ended with {done.returncode}\n{tail}")
        return done.stdout

    def deploy(self, template, stack, parameters, fails=False):
        """`sam deploy` with these arguments."""
        overrides = [f"{name}={value}" for name, value in parameters.items()]
        return self.run(tool("sam"), "deploy", "--template-file", template, "--stack-name", stack, "--resolve-s3",
                        "--s3-prefix", stack,
                        "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-fail-on-empty-changeset",
                        "--no-progressbar", "--config-file", self.config, "--parameter-overrides", *overrides,
                        fails=fails)


class Emulator(Account):
    """The emulated account while it runs. Leaves nothing behind but its log."""

    def __init__(self, enforced=True):
        """`enforced`: whether credentials and rights are checked."""
        self.enforced = enforced
        self.port = _free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        # Of this process the emulator and everything that it starts inherit no AWS settings.
        plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        super().__init__({**plain, "AWS_ENDPOINT_URL": self.endpoint, "AWS_ACCESS_KEY_ID": "test",
                          "AWS_SECRET_ACCESS_KEY": "test", "AWS_CONFIG_FILE": os.devnull,
                          "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true"}, REGION)
        WORK.mkdir(parents=True, exist_ok=True)
        self.log = WORK / "account.log"
        self.edge_clock = Path(self.home.name, "edge-clock")
        self.set_edge_clock()

    def set_edge_clock(self, seconds=None):
        """Stops the clock of the edge at a time, or lets it be the system's."""
        self.edge_clock.write_text("" if seconds is None else str(seconds))

    def __enter__(self):
        settings = {"AUTH": str(self.enforced).lower(), "BIND_HOST": "127.0.0.1", "LAMBDA_EXECUTOR": "local",
                    "GATEWAY_PORT": str(self.port), "MINISTACK_REGION": REGION, "TMPDIR": self.home.name,
                    "SFTP_ENABLED": "0", "IOT_MTLS_ENABLED": "0", "EDGE_CLOCK": str(self.edge_clock)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([sys.executable, HERE / "account.py"], stdout=log, stderr=log,
                                            env={**self.environment, **settings}, start_new_session=True)
        for _ in range(300):
            if self.process.poll() is not None:
                raise Failed(f"the emulator ended at once; see {self.log}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.1)
        self.__exit__()
        raise Failed("the emulator does not listen after 30 s")

    def __exit__(self, *_):
        # The group: the functions run as children of the emulator.
        for kind in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, kind)
                self.process.wait(10)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        super().__exit__()

    def client(self, service, **credentials):
        keys = credentials or {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        config = Config(retries={"max_attempts": 1}, connect_timeout=5, read_timeout=60)
        return boto3.client(service, endpoint_url=self.endpoint, region_name=REGION, config=config, **keys)

    def import_api(self, stack):
        return gateway.import_api(self, stack)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
