"""The local server of a run, the memory and connections of its process, and its table."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ITEM = """      - id: {id}
        name: Sale Toad
        description: Only today.
        image: /img/companions/marsh-toad.svg
        price: 3.00
        global_limit: {units}
        sorting: 9
"""
BEFORE = "      - id: 303\n"


class Stage:
    """A local server on a free port, at which every request may name its own address. Its table is in a file; or in memory, with
    a further item that has a limit."""

    def __init__(self, server, item=None, units=None):
        self.folder = Path(tempfile.mkdtemp(prefix="load-"))
        store = self.folder / "store"
        shutil.copytree(ROOT / "infra" / "sample-store", store)
        if item:
            file = store / "categories" / "companions.yaml"
            text = file.read_text()
            assert BEFORE in text, f"{file} has no item 303 before which one can be added"
            file.write_text(text.replace(BEFORE, ITEM.format(id=item, units=units) + BEFORE))
        command = [server, "--port", "0", "--json", "--quiet", "--store", store,
                   "--parameter", "TrustedProxies=127.0.0.1/32"]
        if not item:
            command += ["--data", self.folder / "data"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline()
        if not ready:
            sys.exit(f"error: {server} did not start")
        self.ready = json.loads(ready)
        self.api, self.provider = self.ready["base_url"], self.ready["payments"]

    def close(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)
        shutil.rmtree(self.folder)

    def usage(self):
        """Resident memory in KiB, and open sockets."""
        process = Path("/proc") / str(self.process.pid)
        line = next(line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]), sum(is_socket(entry) for entry in (process / "fd").iterdir())

    def scan(self, condition):
        """The rows of the table with an attribute. The embedded engine does not verify the signature."""
        body = {"TableName": self.ready["table"], "FilterExpression": condition}
        headers = {"X-Amz-Target": "DynamoDB_20120810.Scan", "Content-Type": "application/x-amz-json-1.0",
                   "X-Amz-Date": "20260101T000000Z",
                   "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/local/dynamodb/aws4_request, "
                                    "SignedHeaders=host;x-amz-date, Signature=0"}
        while True:
            request = urllib.request.Request(self.ready["dynamodb_endpoint"], json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request) as response:
                page = json.load(response)
            yield from page["Items"]
            if not page.get("LastEvaluatedKey"):
                return
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def sold(self, item):
        """Units of an item in paid orders, in orders that hold them, and in its counter."""
        units = Counter()
        for order in self.scan("attribute_exists(internal_id)"):
            state = "paid" if order["status"]["S"] == "PAID" else "held" if order.get("held", {}).get("BOOL") else None
            for line in order["lines"]["L"]:
                if line["M"]["item"]["N"] == str(item):
                    units[state] += int(line["M"]["count"]["N"])
        counters = (row for row in self.scan("attribute_exists(sold)") if row["pk"]["S"] == f"COUNT#{item}")
        return units["paid"], units["held"], sum(int(row["sold"]["N"]) for row in counters)


def is_socket(entry):
    try:
        return os.readlink(entry).startswith("socket:")
    except FileNotFoundError:  # closed in between
        return False
