cat > /app/porter.py <<'PROGRAM'
"""Handles the messages of the stream ORDERS: each takes effect once, in ledger.db."""

import json
import os
import re
import sqlite3
import sys
import time

sys.path.insert(0, "/opt/queue")
from jetstream import Broker

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
STREAM, ID, KEY, LIMIT = "ORDERS", "id", "article", 3
MALFORMED, UNKNOWN = "unreadable", "stranger"
FIELDS = {"id": str, "article": str, "client": str, "units": int}
TABLES = ["CREATE TABLE IF NOT EXISTS done_ids (id TEXT PRIMARY KEY)","CREATE TABLE IF NOT EXISTS quotes (\"client\" TEXT, \"answers\" INTEGER, \"total\" INTEGER, PRIMARY KEY (client))"]
CONSUMERS = {
    "desk": {"durable_name": "desk", "filter_subject": "orders.new", "ack_policy": "explicit", "ack_wait": 1_000_000_000},
}
SEEN, KNOWN = set(), []


def directory():
    with open(os.path.join(FOLDER, "directory.json"), encoding="utf-8") as file:
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
    broker.publish("morgue.messages", json.dumps(letter).encode(), {"Nats-Msg-Id": f"dead-{message.sequence}"})


def effect(db, broker, body, value):
    asker, quantity = body["client"], body["units"]
    if quantity < 1:
        return "no-quantity"
    price = value * quantity
    if quantity >= 13:
        price = price * 85 // 100
    db.execute(
        'INSERT INTO quotes VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET answers = answers + 1, total = total + excluded.total',
        (asker, price),
    )
    answer = {"id": body[ID], "total": price}
    broker.publish(f"notices.{asker}", json.dumps(answer).encode(), {"Nats-Msg-Id": once(body[ID])})


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
            claimed = db.execute("INSERT INTO done_ids VALUES (?) ON CONFLICT DO NOTHING", (body[ID],)).rowcount
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
    db = sqlite3.connect(os.path.join(FOLDER, "ledger.db"), isolation_level=None)
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
python3 /app/porter.py 4222 /app/state
