cat > /app/worker.py <<'PROGRAM'
"""Handles the messages of the stream ARRIVALS: each takes effect once, in books.db."""

import json
import os
import re
import sqlite3
import sys
import time

sys.path.insert(0, "/opt/queue")
from jetstream import Broker

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
STREAM, ID, KEY, LIMIT = "ARRIVALS", "uid", "origin", 4
MALFORMED, UNKNOWN = "bad-form", "not-listed"
FIELDS = {"uid": str, "origin": str, "text": str, "tries": int}
TABLES = ["CREATE TABLE IF NOT EXISTS effected (id TEXT PRIMARY KEY)","CREATE TABLE IF NOT EXISTS laid_aside (\"id\" TEXT, \"origin\" TEXT, \"tries\" INTEGER, PRIMARY KEY (id))"]
CONSUMERS = {
    "mill": {"durable_name": "mill", "filter_subject": "arrivals.new", "ack_policy": "explicit", "ack_wait": 1_000_000_000},
}
SEEN, KNOWN = set(), []


def directory():
    with open(os.path.join(FOLDER, "register.json"), encoding="utf-8") as file:
        return json.load(file)


def parsed(data):
    """The fields of a message; None where it is malformed."""
    try:
        body = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    for field, kind in FIELDS.items():
        if type(body.get(field)) is not kind or body[field] == "":
            return None
    return body


def once(name):
    """A header may hold no line end and no odd character: the name in hexadecimal."""
    return name.encode("utf-8", "surrogatepass").hex()


def bury(broker, message, reason):
    text = message.data.decode("utf-8", "replace")
    letter = {"sequence": message.sequence, "reason": reason, "deliveries": message.deliveries, "text": text}
    broker.publish("morgue.letters", json.dumps(letter).encode(), {"Nats-Msg-Id": f"dead-{message.sequence}"})


def amount_of(text):
    try:
        old = json.loads(text)
    except ValueError:
        return None
    if not isinstance(old, dict):
        return None
    if type(old.get("cents")) is int:
        return old["cents"]
    found = re.fullmatch(r"(-?)([0-9]+)(?:[.,]([0-9][0-9]))?", old["sum"]) if type(old.get("sum")) is str else None
    if found is None:
        return None
    amount = int(found[2]) * 100 + int(found[3] or 0)
    return -amount if found[1] else amount


def effect(db, broker, body, value):
    if body["tries"] >= 4:
        db.execute("INSERT INTO laid_aside VALUES (?, ?, ?)", (body[ID], body["origin"], body["tries"]))
        return None
    amount = amount_of(body["text"])
    if amount is None:
        return "beyond-repair"
    mended = {"id": body[ID], "tries": body["tries"] + 1, "cents": amount}
    broker.publish(f"outbox.{value}", json.dumps(mended).encode(), {"Nats-Msg-Id": once(body[ID])})


class Refused(Exception):
    pass


def settle(db, broker, message):
    body = parsed(message.data)
    if body is None:
        bury(broker, message, MALFORMED)
        return message.term()
    try:
        with db:
            db.execute("BEGIN IMMEDIATE")
            claimed = db.execute("INSERT INTO effected VALUES (?) ON CONFLICT DO NOTHING", (body[ID],)).rowcount
            if claimed:
                value = directory().get(body[KEY])
                if value is None:
                    raise Refused(UNKNOWN)
                reason = effect(db, broker, body, value)
                if reason is not None:
                    raise Refused(reason)
    except Refused as refused:
        if refused.args[0] == UNKNOWN and message.deliveries < LIMIT:
            return message.nak(0.2)
        bury(broker, message, refused.args[0])
        return message.term()
    message.ack()


def take(db, broker):
    """Settles some of what the first consumer that has anything gives; False where none has."""
    for name in CONSUMERS:
        state = broker.consumer(STREAM, name)
        if state["num_pending"] or state["num_ack_pending"]:
            for message in broker.fetch(STREAM, name, 5, 0.1):
                settle(db, broker, message)
            return True
    return False


def work(db, broker):
    for config in CONSUMERS.values():
        broker.add_consumer(STREAM, config)
    while take(db, broker):
        pass


def main():
    os.makedirs(FOLDER, exist_ok=True)
    db = sqlite3.connect(os.path.join(FOLDER, "books.db"), isolation_level=None)
    for table in TABLES:
        db.execute(table)
    for _ in range(150):
        try:
            with Broker(PORT) as broker:
                return work(db, broker)
        except OSError:
            time.sleep(0.1)
    sys.exit("the broker does not come back")


main()
PROGRAM
python3 /app/worker.py 4222 /app/state
