/**
 * The right worker in two ways, and the same with a fault. The oracle looks whether an id is handled, and takes one
 * message at a time; the other way claims the id first, takes several messages where order is free, and ends bad ones.
 */
import { LIBRARY_FOLDER } from "./client-library.ts";
import type { Tier } from "./hidden-tests.ts";
import type { Job } from "./job.ts";

/** A change to a program's text. */
export interface Edit {
  readonly from: string;
  readonly to: string;
}

/** A fault that a worker may have, and hidden tests that it fails for certain. */
export interface Flaw {
  readonly edits: readonly Edit[];
  readonly fails: { readonly [tier in Tier]?: readonly string[] };
}

/** Faults that a worker of the job may have, each of which breaks one promise of the instruction. */
export function flawsOf({ kind }: Job): Readonly<Record<string, Flaw>> {
  const never = ["test_some_hundred_messages", "test_two_starts"];
  const flaw = (fails: Flaw["fails"], ...edits: readonly Edit[]): Flaw => ({ edits, fails });
  const boundary = (...names: readonly string[]) => ({ boundary: names });
  return {
    "buries-twice": flaw(boundary("test_ended_at_a_dead_letter"), {
      from: `, {"Nats-Msg-Id": f"dead-{message.sequence}"})`,
      to: ")",
    }),
    "drops-bad-messages": flaw(
      { unit: ["test_a_malformed_message"] },
      { from: "        bury(broker, message, MALFORMED)\n        return True", to: "        return True" },
    ),
    "tries-once-more": flaw(
      { ...boundary("test_unknown_until_the_limit"), integration: never },
      { from: "message.deliveries < LIMIT", to: "message.deliveries <= LIMIT" },
    ),
    "never-tries-again": flaw(
      { ...boundary("test_unknown_until_the_limit", "test_known_before_the_limit"), integration: never },
      { from: "message.deliveries < LIMIT", to: "message.deliveries < 1" },
    ),
    "reads-the-directory-once": flaw(boundary("test_known_before_the_limit"), {
      from: "    value = directory().get(body[KEY])",
      to: "    KNOWN or KNOWN.append(directory())\n    value = KNOWN[0].get(body[KEY])",
    }),
    "loses-the-broker": flaw(boundary("test_broker_restarted"), {
      from: "        except OSError:\n            time.sleep(0.1)",
      to: "        except OSError:\n            raise",
    }),
    ...(kind.fields.some(({ type }) => type === "int")
      ? {
          "takes-truth-for-a-number": flaw(boundary("test_all_ways_to_be_malformed"), {
            from: "type(body.get(field)) is not kind",
            to: "not isinstance(body.get(field), kind)",
          }),
        }
      : {}),
    ...(kind.showsRepeats
      ? {
          "remembers-in-memory": flaw(
            { integration: ["test_two_starts"] },
            { from: "    if is_handled(db, body[ID]):", to: "    if body[ID] in SEEN:" },
            { from: "    if reason is not None:\n", to: "    SEEN.add(body[ID])\n    if reason is not None:\n" },
          ),
        }
      : {}),
    ...(kind.isPublishing
      ? {
          "publishes-without-an-id": flaw(boundary("test_ended_while_publishing"), {
            from: ', {"Nats-Msg-Id": once(',
            to: ', {"Ignored": once(',
          }),
        }
      : {}),
  };
}

/** The subtle one: right as long as nobody ends the program. */
export const ACKNOWLEDGES_FIRST: Flaw = {
  edits: [
    {
      from: "                if handle(db, broker, message):\n                    message.ack()",
      to: "                if is_known(message):\n                    message.ack()\n                    handle(db, broker, message)\n                elif handle(db, broker, message):\n                    message.ack()",
    },
  ],
  fails: { boundary: ["test_ended_while_acknowledging", "test_ended_again_and_again"] },
};

/** The text of a program with some changes, each of which must fit. */
export function edited(program: string, edits: readonly Edit[]): string {
  return edits.reduce((text, { from, to }) => {
    if (!text.includes(from)) throw new RangeError(`A change does not fit the worker: ${from}`);
    return text.replace(from, () => to);
  }, program);
}

export function workerProgram(job: Job): string {
  return `${head(job)}
${job.kind.worker}

def is_handled(db, name):
    return db.execute("SELECT 1 FROM ${job.handled} WHERE id = ?", (name,)).fetchone() is not None


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
            db.execute("INSERT OR IGNORE INTO ${job.handled} VALUES (?)", (body[ID],))
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
                if handle(db, broker, message):
                    message.ack()
                else:
                    message.nak(0.2)
            break
        else:
            return

${foot(job)}`;
}

/** The other way; right, too. */
export function otherProgram(job: Job): string {
  return `${head(job)}
${job.kind.worker}

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
            claimed = db.execute("INSERT INTO ${job.handled} VALUES (?) ON CONFLICT DO NOTHING", (body[ID],)).rowcount
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
            for message in broker.fetch(STREAM, name, ${job.kind.isOrdered ? 1 : 5}, 0.1):
                settle(db, broker, message)
            return True
    return False


def work(db, broker):
    for config in CONSUMERS.values():
        broker.add_consumer(STREAM, config)
    while take(db, broker):
        pass

${foot(job)}`;
}

function head(job: Job): string {
  const { kind } = job;
  const fields = [{ name: job.id, type: "str" }, ...kind.fields].map(({ name, type }) => `"${name}": ${type}`);
  const tables = kind.tables.map(
    ({ name, columns, key }) =>
      `CREATE TABLE IF NOT EXISTS ${name} (${columns.map(([column, type]) => `"${column}" ${type}`).join(", ")}, ${key})`,
  );
  return `"""Handles the messages of the stream ${job.stream}: each takes effect once, in ${job.database}."""

import json
import os
import re
import sqlite3
import sys
import time

sys.path.insert(0, "${LIBRARY_FOLDER}")
from jetstream import Broker

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
STREAM, ID, KEY, LIMIT = "${job.stream}", "${job.id}", "${kind.key}", ${job.deliveries}
MALFORMED, UNKNOWN = "${job.malformed}", "${job.unknown}"
FIELDS = {${fields.join(", ")}}
TABLES = ${JSON.stringify([`CREATE TABLE IF NOT EXISTS ${job.handled} (id TEXT PRIMARY KEY)`, ...tables])}
CONSUMERS = {
${job.consumers
  .map(
    ({ name, lane }) =>
      `    "${name}": {"durable_name": "${name}", "filter_subject": "${job.subject}.${lane}", "ack_policy": "explicit", "ack_wait": 1_000_000_000${kind.isOrdered ? ', "max_ack_pending": 1' : ""}},`,
  )
  .join("\n")}
}
SEEN, KNOWN = set(), []


def directory():
    with open(os.path.join(FOLDER, "${job.directory}.json"), encoding="utf-8") as file:
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
    broker.publish("${job.deadSubject}", json.dumps(letter).encode(), {"Nats-Msg-Id": f"dead-{message.sequence}"})
`;
}

function foot(job: Job): string {
  return `
def main():
    os.makedirs(FOLDER, exist_ok=True)
    db = sqlite3.connect(os.path.join(FOLDER, "${job.database}"), isolation_level=None)
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
`;
}
