"""The programs: built as they are deployed, then weighed."""

import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "bench"
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


class Program:
    """A program that can be started. Of an interpreter's program, `deployed` is the bundle."""

    def __init__(self, name, command, deployed, folder=None, is_function=False):
        self.name, self.command, self.deployed = name, command, deployed
        self.folder, self.is_function = folder, is_function

    def sizes(self):
        """Bytes, and bytes in an archive, which has every file's name twice and some 76 bytes more."""
        data = [(len(path.name), path.read_bytes()) for path in self.deployed]
        zipped = sum(len(zlib.compress(bytes_)) + 76 + 2 * name for name, bytes_ in data)
        return sum(len(bytes_) for _, bytes_ in data), zipped


def run(*command, folder=ROOT):
    print("building:", *command, file=sys.stderr)
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def function(name, built):
    """One of the functions, as `sam build` left it in a folder, or built as a deploy builds it."""
    return copied(Path(built) / f"{name.title()}Function" / "bootstrap", name, True) if built else cargo(name, True)


def cargo(name, is_function=False):
    """Built by itself, as a deploy does: together, crates would get each other's features."""
    run("cargo", "build", "--release", "--locked", "-p", name)
    return copied(TARGET / "release" / name, name, is_function)


def copied(path, name, is_function):
    """A copy, as a deploy unpacks it: a start of the linker's file costs a twelfth more (infra/docs/performance-notes.md)."""
    WORK.mkdir(parents=True, exist_ok=True)
    copy = WORK / name
    copy.unlink(missing_ok=True)  # an old one may still run, and cannot be overwritten
    shutil.copy(path, copy)
    return Program(name, [copy], [copy], is_function=is_function)


def server():
    """The local server, whose database the programs use."""
    run("cargo", "build", "--profile", "prove", "--locked", "-p", "local")
    return TARGET / "prove" / "storefront"


def peer(name):
    folder = WORK / "peers" / name
    shutil.copytree(ROOT / "tests" / "bench" / "peers" / name, folder, dirs_exist_ok=True)
    return folder


def node():
    """POST /user in Node, bundled as AWS advises."""
    folder = peer("node")
    run("npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)
    run("npm", "run", "build", folder=folder)
    bundle = folder / "dist" / "index.cjs"
    return Program("node", [run("node", "-p", "process.execPath"), "--use-openssl-ca", bundle], [bundle], folder)


def python():
    """POST /user in Python, in AWS's own loop."""
    folder = peer("python")
    run(sys.executable, "-m", "pip", "install", "-q", "--upgrade", "--target", ".", "-r", "requirements.txt", folder=folder)
    run(sys.executable, "-m", "compileall", "-q", ".", folder=folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    return Program("python", [sys.executable, "-m", "awslambdaric", "app.handler"], files, folder)
