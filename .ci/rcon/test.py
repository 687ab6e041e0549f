"""Judges the stand-in for a game server with RCON by three clients that others wrote: `rcon` for Python, `rcon-client` and
`rcon-srcds` for Node.

    python .ci/rcon/test.py     after `cargo build --workspace --all-targets` and `npm ci --prefix .ci/rcon`

The agent's own client is tested on the stand-in. So the two cannot agree on something that no client speaks. Of the dialects
that the stand-in speaks, `rcon` understands those in which a response ends at a marker, and gives up at the id 0, as its users
report of Palworld.
"""

import json
import subprocess
import sys
from pathlib import Path

from rcon.exceptions import SessionTimeout, WrongPassword
from rcon.source import Client

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = ROOT / "target" / "debug" / "rcon-stand-in"
PASSWORD = "swordfish"
# Commands and what Minecraft responds. Only `rcon` reads responses of several packets as documented.
COMMANDS = {
    "minecraft:list": "There are 1 of a max of 5000 players online: Alex",
    "give Alex firework_rocket 3": "Gave 3 [Firework Rocket] to Alex",
    "give Nobody diamond": "No player was found",
    "lp user Alex parent add vip": "[LP] alex now inherits permissions from vip in context global.",
    "warp ä": "Unknown or incomplete command, see below for errorwarp ä<--[HERE]",
}
# Dialects with the length after which `rcon` looks for a further packet, and whether it understands a list of more than 12 KiB.
DIALECTS = {"one-packet": (4096, True), "split": (600, True), "zero-ids": (4096, False)}


def equal(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r} is not {wanted!r}")


def dialects(host, port):
    with Client(host, port, passwd=PASSWORD) as client:
        for number in range(400):
            client.run(f"stand-in join Player{number}")
        plain = client.run("minecraft:list uuids")
    if len(plain) < 12 * 1024:
        sys.exit(f"a list of {len(plain)} bytes is too short")
    for dialect, (threshold, is_understood) in DIALECTS.items():
        with Client(host, port, passwd=PASSWORD, frag_threshold=threshold) as client:
            try:
                client.run(f"stand-in {dialect}")
                equal((client.run("minecraft:list uuids"), True), (plain, is_understood), f"rcon: {dialect}")
                client.run("stand-in none")
            except SessionTimeout:
                equal(False, is_understood, f"rcon: {dialect}")


def main():
    command = [STAND_IN, "--password", PASSWORD, "--player", "Alex"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stand_in:
        try:
            host, port = stand_in.stdout.readline().strip().split(":")
            with Client(host, int(port), passwd=PASSWORD) as client:
                for text, wanted in COMMANDS.items():
                    equal(client.run(text), wanted, f"rcon: {text}")
                long = client.run("help")
                equal(long.count("/command"), 400, "rcon: help")
                equal(client.run("say hello"), "", "rcon: say")
                equal(client.run("stand-in hang"), "ok", "rcon: stand-in")
                equal(client.run("stand-in none"), "ok", "rcon: stand-in")
            try:
                with Client(host, int(port), passwd="wrong"):
                    sys.exit("rcon: a wrong password was accepted")
            except WrongPassword:
                pass
            node = ["node", ROOT / ".ci" / "rcon" / "clients.mjs", port, PASSWORD, *COMMANDS]
            output = subprocess.run(node, check=True, capture_output=True, text=True, timeout=60).stdout
            clients = [json.loads(line) for line in output.splitlines()]
            equal([client["client"] for client in clients], ["rcon-client", "rcon-srcds"], "node")
            for client in clients:
                equal(client["responses"], list(COMMANDS.values()), client["client"])
            dialects(host, int(port))
        finally:
            stand_in.terminate()
    print(f"ok   {1 + len(clients)} clients, {len(COMMANDS)} commands each, {len(DIALECTS)} dialects")


if __name__ == "__main__":
    main()
