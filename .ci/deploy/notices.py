"""A notice of the deployed stack: its target is connected with storectl, and a receiver on this machine checks the signature.

The template never lets the function send to this machine: that is put into its environment here.
"""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

from checks import expect, expect_equal
from cloud import WORK

FUNCTION = "NoticesFunction"
ADDRESS = "https://hooks.example.com/a-path-that-no-output-may-show"
ID = "sold_out-deploy"
EVENT = {"S": "sold_out"}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.arrived.append((dict(self.headers), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Notices:
    """What a stack does with notices switched on. `trial` has the stack."""

    def __init__(self, trial):
        self.trial, self.account = trial, trial.account

    def sends(self):
        database = self.account.client("dynamodb")
        table = {"TableName": self.trial.outputs["TableName"]}
        active = {**table, "Key": {"pk": {"S": "STORE"}, "sk": {"S": "ACTIVE"}}}
        target = {"M": {"name": {"S": "own"}, "kind": {"S": "webhook"}, "events": {"L": [EVENT]}}}
        database.update_item(**active, UpdateExpression="SET config.notify = :targets",
                             ExpressionAttributeValues={":targets": {"L": [target]}})
        key = self.connect()
        server = HTTPServer(("127.0.0.1", 0), Handler)
        server.arrived = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.point_to(f"http://127.0.0.1:{server.server_port}/hook", key)
        now = int(time.time())
        row = {"sk": {"S": f"{now:012}#{ID}"}, "id": {"S": ID}, "event": EVENT, "at": {"N": str(now)},
               "about": {"M": {"item": {"M": {"id": {"N": "201"}, "name": {"S": "A crate"}}}}}}
        database.put_item(**table, Item={"pk": {"S": "NOTICES"}, **row})
        sent = self.trial.scheduled("notices/send")
        server.shutdown()
        expect_equal("what the run says", json.loads(sent["body"]), {"due": 1, "sent": 1, "failed": 0, "left": 0})
        (headers, body), = server.arrived
        self.verify(headers, body, key)
        rows = database.query(**table, KeyConditionExpression="pk = :pk",
                              ExpressionAttributeValues={":pk": {"S": "NOTICES"}})["Items"]
        expect_equal("the rows of notices", [row["sk"]["S"].split("#")[0] for row in rows], ["SENT"])
        database.update_item(**active, UpdateExpression="REMOVE config.notify")

    def connect(self):
        """As an owner would: address and deploy. The signing key is shown once."""
        file = WORK / "notice-url.txt"
        file.write_text(f"{ADDRESS}\n")
        said = json.loads(self.trial.storectl("notify", "connect", "own", "--url-file", file, "--json"))
        file.unlink()
        expect("Notices=true KeyRevision=" in said["deploy"] and ADDRESS not in str(said), f"notify connect says {said}")
        self.trial.deploy(self.trial.revised("notices"), KeyRevision="notices")
        variables = self.trial.environment(FUNCTION)
        expect_equal("the target that the function has", json.loads(variables["NOTICE_KEYS"]),
                     {"own": {"url": ADDRESS, "keys": [said["signing_key"]]}})
        expect_equal("the keys of others that it has", [v for v in ("TOKEN_KEYS", "PAYMENT_KEYS", "ORIGIN_KEYS", "CHAT_SECRET",
                                                                    "NOTICE_LOOPBACK") if variables.get(v)], [])
        expect("NOTICE_KEYS" not in self.trial.environment(), "another function has the addresses of targets")
        return said["signing_key"]

    def point_to(self, url, key):
        variables = {**self.trial.environment(FUNCTION), "NOTICE_LOOPBACK": "true",
                     "NOTICE_KEYS": json.dumps({"own": {"url": url, "keys": [key]}})}
        self.account.client("lambda").update_function_configuration(
            FunctionName=self.trial.ids[FUNCTION], Environment={"Variables": variables})

    @staticmethod
    def verify(headers, body, key):
        """As operations.md shows it."""
        headers = {name.lower(): value for name, value in headers.items()}
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        secret = base64.b64decode(key.removeprefix("whsec_"))
        expected = "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()
        expect(expected in headers["webhook-signature"].split(" "), "the signature is not by the key that was shown")
        message = json.loads(body)
        expect_equal("the message", (headers["webhook-id"], message["type"], message["data"]),
                     (ID, "sold_out", {"item": 201, "name": "A crate"}))
