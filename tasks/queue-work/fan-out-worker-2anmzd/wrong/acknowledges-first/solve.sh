cat > /app/worker.py <<'PROGRAM'
"""Handles the messages of the stream FEED: each takes effect once, in record.db."""

import json
import os
import re
import sqlite3
import sys
import time

sys.path.insert(0, "/opt/queue")
from jetstream import Broker

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
STREAM, ID, KEY, LIMIT = "FEED", "ticket", "channel", 4
MALFORMED, UNKNOWN = "unreadable", "not-listed"
FIELDS = {"ticket": str, "channel": str, "author": str, "text": str}
TABLES = ["CREATE TABLE IF NOT EXISTS effected (id TEXT PRIMARY KEY)"]
CONSUMERS = {
    "mill": {"durable_name": "mill", "filter_subject": "feed.new", "ack_policy": "explicit", "ack_wait": 1_000_000_000},
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
    broker.publish("limbo.messages", json.dumps(letter).encode(), {"Nats-Msg-Id": f"dead-{message.sequence}"})


def effect(db, broker, body, value):
    for name in sorted(set(value) - {body["author"]}):
        letter = {"id": body[ID], "reader": name, "text": body["text"]}
        broker.publish(f"notices.{name}", json.dumps(letter).encode(), {"Nats-Msg-Id": once(f"{body[ID]} {name}")})


def is_handled(db, name):
    return db.execute("SELECT 1 FROM effected WHERE id = ?", (name,)).fetchone() is not None


def is_known(message):
    body = parsed(message.data)
    return body is not None and body[KEY] in directory()


def handle(db, broker, message):
    """Does what the message asks for; False where it is to come again."""
    body = parsed(message.data)
    if body is None:
        bury(broker, message, MALFORMED)
        return True
    if is_handled(db, body[ID]):
        return True
    value = directory().get(body[KEY])
    if value is None:
        if message.deliveries < LIMIT:
            return False
        bury(broker, message, UNKNOWN)
        return True
    db.execute("BEGIN IMMEDIATE")
    try:
        reason = effect(db, broker, body, value)
        if reason is None:
            db.execute("INSERT OR IGNORE INTO effected VALUES (?)", (body[ID],))
            db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    if reason is not None:
        bury(broker, message, reason)
    return True


def work(db, broker):
    for name, config in CONSUMERS.items():
        broker.add_consumer(STREAM, config)
    while True:
        for name in CONSUMERS:
            state = broker.consumer(STREAM, name)
            if state["num_pending"] + state["num_ack_pending"] == 0:
                continue
            for message in broker.fetch(STREAM, name, 1, 0.2):
                if is_known(message):
                    message.ack()
                    handle(db, broker, message)
                elif handle(db, broker, message):
                    message.ack()
                else:
                    message.nak(0.2)
            break
        else:
            return


def main():
    os.makedirs(FOLDER, exist_ok=True)
    db = sqlite3.connect(os.path.join(FOLDER, "record.db"), isolation_level=None)
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
