"""Judges the stand-in for a game server with RCON by three clients that others wrote: `rcon` for Python, `rcon-client` and
`rcon-srcds` for Node.

    python .ci/rcon/test.py     after `cargo build --workspace --all-targets` and `npm ci --prefix .ci/rcon`

The agent's own client is tested on the stand-in. So the two cannot agree on something that no client speaks.
"""

import json
import subprocess
import sys
from pathlib import Path

from rcon.exceptions import WrongPassword
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


def equal(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r} is not {wanted!r}")


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
        finally:
            stand_in.terminate()
    print(f"ok   {1 + len(clients)} clients, {len(COMMANDS)} commands each")


if __name__ == "__main__":
    main()
