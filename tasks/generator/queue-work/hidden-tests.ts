/**
 * The hidden tests: the job decided anew in Python on messages that are drawn in each grading, and a way to run the
 * agent's program on them beside a broker that is the test's own.
 */
import type { DraftFiles } from "../../../src/task/draft.ts";
import { DRIVER } from "./driver.ts";
import type { Job } from "./job.ts";

const TESTS = {
  unit: {
    file: "unit/test_plain.py",
    group: "TestPlain",
    names: ["test_one_message", "test_a_message_sent_twice", "test_a_malformed_message", "test_given_messages"],
  },
  integration: {
    file: "integration/test_many.py",
    group: "TestMany",
    names: ["test_some_hundred_messages", "test_two_starts"],
  },
  boundary: {
    file: "boundary/test_faults.py",
    group: "TestFaults",
    names: [
      ...["test_ended_before_acknowledging", "test_ended_while_acknowledging", "test_ended_at_a_dead_letter"],
      ...["test_ended_again_and_again", "test_unknown_until_the_limit", "test_known_before_the_limit"],
      ...["test_broker_restarted", "test_nothing_to_do", "test_all_ways_to_be_malformed", "test_edges"],
    ],
  },
} as const;

/** Only where an effect publishes. */
const PUBLISHING = "test_ended_while_publishing";

export type Tier = keyof typeof TESTS;

/** Names of the tests of a tier. */
export function testsOf({ kind }: Job, tier: Tier): readonly string[] {
  return tier === "boundary" && kind.isPublishing ? [...TESTS.boundary.names, PUBLISHING] : TESTS[tier].names;
}

/** The id of a test, as the manifest will have it. */
export function testId(tier: Tier, name: string): string {
  const { file, group } = TESTS[tier];
  return `${file}::${group}.${name}`;
}

export function hiddenTests(job: Job, given: unknown): DraftFiles {
  return {
    "support/__init__.py": "",
    "support/queue_job.py": supportFile(job),
    "support/given.json": JSON.stringify(given, null, 1),
    "unit/test_plain.py": UNIT,
    "integration/test_many.py": INTEGRATION,
    "boundary/test_faults.py": job.kind.isPublishing ? BOUNDARY + WHILE_PUBLISHING : BOUNDARY,
  };
}

function supportFile(job: Job): string {
  const { kind } = job;
  const queries = Object.fromEntries([
    [job.handled, `SELECT id FROM ${job.handled} ORDER BY 1`],
    ...kind.tables.map(({ name, columns }) => [
      name,
      `SELECT ${columns.map(([column]) => `"${column}"`).join(", ")} FROM ${name} ORDER BY ${columns.map((_, index) => index + 1).join(", ")}`,
    ]),
  ]);
  const order = {
    program: `/app/${job.program}.py`,
    directory_file: `${job.directory}.json`,
    database: job.database,
    queries,
    stream: job.stream,
    out: job.outStream,
    dead: job.deadStream,
    dead_subject: job.deadSubject,
    consumers: job.consumers.map(({ name }) => name),
    streams: {
      [job.stream]: [`${job.subject}.>`],
      [job.outStream]: [`${job.outSubject}.>`],
      [job.deadStream]: [job.deadSubject],
    },
  };
  return `"""The job of this task decided in memory, and the agent's program on the same messages in its own sandbox."""

import base64
import json
import pathlib
import unittest

from sandlot_subject import random, subject

ORDER = json.loads(r"""${JSON.stringify(order)}""")
ID, KEY, LIMIT = "${job.id}", "${kind.key}", ${job.deliveries}
MALFORMED, UNKNOWN = "${job.malformed}", "${job.unknown}"
SUBJECTS = ${JSON.stringify(kind.lanes.map((lane) => `${job.subject}.${lane}`))}
HANDLED = "${job.handled}"
TYPES = {${[{ name: job.id, type: "str" }, ...kind.fields].map(({ name, type }) => `"${name}": ${type}`).join(", ")}}
${kind.inputs}
${kind.model}
${kind.edges}
# Runs beside the agent's program, so it only says what it finds.
DRIVER = r'''${DRIVER}'''
${CASES}`;
}

const CASES = String.raw`

def drawn_directory(random, count=6):
    names = random.sample(["alder", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan"], count)
    return {name: some_value(random) for name in names}


def drawn_bodies(random, directory, count, start=0):
    """Good messages with ids of their own."""
    keys = sorted(directory)
    bodies = []
    for index in range(start, start + count):
        key = random.choice(keys)
        bodies.append({ID: f"{random.randrange(16**6):06x}-{index}", KEY: key, **some_fields(random, index, key, directory[key])})
    return bodies


def message(random, body):
    return [random.choice(SUBJECTS), body if isinstance(body, bytes) else json.dumps(body).encode()]


def messages(random, bodies):
    return [message(random, body) for body in bodies]


def fields_of(data):
    try:
        body = json.loads(data.decode("utf-8"))
    except ValueError:
        return None
    if not isinstance(body, dict) or any(type(body.get(name)) is not kind for name, kind in TYPES.items()):
        return None
    return None if "" in [body[name] for name in TYPES] else body


class Model:
    """What must be there in the end."""

    def __init__(self):
        self.rule, self.handled, self.dead, self.last = Rule(), set(), [], 0

    def run(self, batch, directory):
        numbered = [(self.last + 1 + place, *one) for place, one in enumerate(batch)]
        self.last += len(batch)
        for lane in SUBJECTS:
            for sequence, subject, data in numbered:
                if subject == lane:
                    reason = self.reason(data, directory)
                    if reason is not None:
                        self.dead.append([sequence, reason, data.decode("utf-8", "replace")])

    def reason(self, data, directory):
        body = fields_of(data)
        if body is None:
            return MALFORMED
        if body[ID] in self.handled:
            return None
        if body[KEY] not in directory:
            return UNKNOWN
        reason = self.rule.apply(body, directory[body[KEY]])
        if reason is None:
            self.handled.add(body[ID])
        return reason

    def tables(self):
        own = {name: sorted(rows) for name, rows in self.rule.tables().items()}
        return {HANDLED: sorted([name] for name in self.handled), **own}


def listed(found):
    """Subject and data of messages, in an order of their own; data that is no JSON as it is."""
    all = []
    for subject, data in found:
        text = base64.b64decode(data).decode("utf-8", "replace")
        try:
            all.append([subject, json.loads(text)])
        except ValueError:
            all.append([subject, text])
    return sorted(all, key=lambda one: json.dumps(one, sort_keys=True))


class QueueTest(unittest.TestCase):
    maxDiff = 2000

    def queue(self, batches, directory, faults=(), known_later=None, seconds=25):
        """Runs the program once for each batch and holds all that it left against the model."""
        order = {
            **ORDER, "directory": directory, "faults": list(faults), "seconds": seconds,
            "batches": [[[subject, base64.b64encode(data).decode()] for subject, data in batch] for batch in batches],
        }
        text = base64.b64encode(json.dumps(order).encode()).decode()
        ran = subject.run(["python3", "-I", "-"], stdin=f"ORDER = '{text}'\n{DRIVER}".encode(), timeout_ms=(seconds + 30) * 1000)
        self.assertEqual(ran.exit_code, 0, ran.stderr[-2000:])
        report = json.loads(ran.stdout)
        model = Model()
        for batch in batches:
            model.run(batch, directory if known_later is None else known_later)
        self.assertEqual(report["runs"], [0] * len(batches), "exit codes of the program")
        self.assertEqual(report["faults"], len(order["faults"]), "faults that the program lived to see")
        self.assertEqual(report["tables"], model.tables())
        self.assertEqual(listed(report["out"]), sorted(model.rule.out, key=lambda one: json.dumps(one, sort_keys=True)))
        letters = [data for _, data in listed(report["dead"])]
        self.assertTrue(all(isinstance(letter, dict) for letter in letters), "dead letters are JSON objects")
        short = [[letter.get("sequence"), letter.get("reason"), letter.get("text")] for letter in letters]
        self.assertEqual(sorted(short, key=str), sorted(model.dead, key=str))
        if not faults:
            tried = [letter.get("deliveries") for letter in letters if letter["reason"] == UNKNOWN]
            self.assertEqual(tried, [LIMIT] * len(tried), "deliveries of messages of unknown keys")
        self.assertEqual(report["stream"], sum(map(len, batches)), "messages in the stream")
        for consumer in report["consumers"]:
            self.assertIsNotNone(consumer, "a consumer is not there")
            self.assertEqual(consumer, {"policy": "explicit", "wait": 10**9, "pending": 0, "unacknowledged": 0})


def given():
    return json.loads((pathlib.Path(__file__).parent / "given.json").read_text())


def given_rows():
    """The tables of the agent's own run on the given messages."""
    asked = base64.b64encode(json.dumps([ORDER["database"], ORDER["queries"]]).encode()).decode()
    program = f"""
import base64, json, sqlite3
database, queries = json.loads(base64.b64decode("{asked}"))
db = sqlite3.connect("file:/app/state/" + database + "?mode=ro", uri=True)
print(json.dumps({{name: [list(row) for row in db.execute(query)] for name, query in queries.items()}}))
"""
    ran = subject.run(["python3", "-I", "-"], stdin=program.encode(), timeout_ms=30_000)
    return json.loads(ran.stdout) if ran.exit_code == 0 else ran.stderr.decode("utf-8", "replace")
`;

const UNIT = `"""One message, alone and in company."""

from support.queue_job import QueueTest, Model, drawn_bodies, drawn_directory, given, given_rows, message, messages, random


class TestPlain(QueueTest):
    def test_one_message(self):
        draw = random("one")
        directory = drawn_directory(draw)
        self.queue([messages(draw, drawn_bodies(draw, directory, 1))], directory)

    def test_a_message_sent_twice(self):
        draw = random("twice")
        directory = drawn_directory(draw)
        body, *others = drawn_bodies(draw, directory, 5)
        one = message(draw, body)
        self.queue([[one, one, *messages(draw, others), one]], directory)

    def test_a_malformed_message(self):
        draw = random("malformed")
        directory = drawn_directory(draw)
        text = f"no JSON {draw.randrange(10**6)}".encode()
        self.queue([messages(draw, [text, *drawn_bodies(draw, directory, 2)])], directory)

    def test_given_messages(self):
        model = Model()
        found = given()
        model.run([[subject, text.encode()] for subject, text in found["messages"]], found["directory"])
        self.assertEqual(given_rows(), model.tables())
`;

const INTEGRATION = `"""Many messages of all sorts."""

from support.queue_job import KEY, QueueTest, drawn_bodies, drawn_directory, messages, random


def mixture(draw, directory, count, start=0):
    bodies = drawn_bodies(draw, directory, count, start)
    for _ in range(count // 8):
        place = draw.randrange(len(bodies))
        bodies.insert(draw.randrange(place, len(bodies)) + 1, bodies[place])
    for text in (b"[1, 2]", b"{", b"\\xff\\xfe"):
        bodies.insert(draw.randrange(len(bodies)), text)
    stranger = dict(drawn_bodies(draw, directory, 1, start + count)[0])
    stranger[KEY] = "nobody"
    bodies.insert(draw.randrange(len(bodies)), stranger)
    return messages(draw, bodies)


class TestMany(QueueTest):
    def test_some_hundred_messages(self):
        draw = random("many")
        directory = drawn_directory(draw, 9)
        self.queue([mixture(draw, directory, 180)], directory, seconds=75)

    def test_two_starts(self):
        draw = random("two starts")
        directory = drawn_directory(draw)
        first, second = mixture(draw, directory, 30), mixture(draw, directory, 30, 40)
        self.queue([first, second + first[:10]], directory)
`;

const BOUNDARY = `"""Programs that are ended, brokers that go away, and messages at the edges of the rules."""

import json

from support.queue_job import (
    ID, KEY, LIMIT, TYPES, QueueTest, drawn_bodies, drawn_directory, edges, message, messages, random, some_value,
)


class TestFaults(QueueTest):
    def ended(self, label, faults, count=12, poison=0):
        draw = random(label)
        directory = drawn_directory(draw)
        bad = [f"bad {draw.randrange(10**6)}".encode() for _ in range(poison)]
        self.queue([messages(draw, bad + drawn_bodies(draw, directory, count))], directory, faults)

    def test_ended_before_acknowledging(self):
        nth = random("before").randrange(3, 9)
        self.ended("before", [{"at": "ack", "nth": nth, "do": "kill"}])

    def test_ended_while_acknowledging(self):
        nth = random("while").randrange(3, 9)
        self.ended("while", [{"at": "ack", "nth": nth, "do": "kill-and-pass"}])

    def test_ended_at_a_dead_letter(self):
        # The first publication of all is the dead letter of the first message.
        self.ended("letter", [{"at": "letter", "nth": 1, "do": "kill-and-pass"}], count=3, poison=1)

    def test_ended_again_and_again(self):
        places = sorted(random("again").sample(range(2, 22), 3))
        kinds = ["kill", "kill-and-pass", "kill"]
        self.ended("again", [{"at": "ack", "nth": nth, "do": do} for nth, do in zip(places, kinds)], count=25)

    def test_unknown_until_the_limit(self):
        draw = random("unknown")
        directory = drawn_directory(draw)
        bodies = drawn_bodies(draw, directory, 6)
        bodies[draw.randrange(1, 4)][KEY] = "stranger"
        self.queue([messages(draw, bodies)], directory)

    def test_known_before_the_limit(self):
        draw = random("later")
        later = drawn_directory(draw)
        name, *others = sorted(later)
        directory = {key: later[key] for key in others}
        # More of the same key, and of others, come behind the first that must wait: where order counts they wait, too.
        waiting = drawn_bodies(draw, {name: later[name]}, 4, 2)
        bodies = drawn_bodies(draw, directory, 2) + waiting + drawn_bodies(draw, directory, 4, 6)
        faults = [{"at": "nak", "nth": 1, "do": "learn", "directory": later}]
        self.queue([messages(draw, bodies)], directory, faults, later)

    def test_broker_restarted(self):
        draw = random("restart")
        directory = drawn_directory(draw)
        faults = [{"at": "ack", "nth": draw.randrange(4, 12), "do": "restart"}]
        self.queue([messages(draw, drawn_bodies(draw, directory, 20))], directory, faults)

    def test_nothing_to_do(self):
        self.queue([[]], drawn_directory(random("nothing")))

    def test_all_ways_to_be_malformed(self):
        draw = random("ways")
        directory = drawn_directory(draw)
        good = drawn_bodies(draw, directory, 2 * len(TYPES) + 2)
        bodies = [good.pop(), b"", b"null", b"[]", b'"text"', b"{", b"\\xc3\\x28", b"{}"]
        for name, kind in TYPES.items():
            without = {key: value for key, value in good.pop().items() if key != name}
            bodies += [without, {**without, name: None}, {**without, name: "" if kind is str else "7"}, {**without, name: True}]
            bodies += [{**without, name: 5 if kind is str else 5.0}, {**without, name: [good[0][name]]}]
        more = {**good.pop(), "further": [1, {"fields": "are ignored"}]}
        self.queue([messages(draw, bodies + [more, *good])], directory)

    def test_edges(self):
        draw = random("edges")
        directory, bodies = edges(draw)
        names = draw.sample(range(10**6), len(bodies))
        self.queue([messages(draw, [{ID: f"id {name}", **body} for name, body in zip(names, bodies)])], directory)
`;

const WHILE_PUBLISHING = `
    def test_ended_while_publishing(self):
        nth = random("publishing").randrange(1, 3)
        self.ended("publishing", [{"at": "out", "nth": nth, "do": "kill-and-pass"}], count=20)
`;
