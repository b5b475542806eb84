"""The job of this task decided in memory, and the agent's program on the same messages in its own sandbox."""

import base64
import json
import pathlib
import unittest

from sandlot_subject import random, subject

ORDER = json.loads(r"""{"program":"/app/worker.py","directory_file":"register.json","database":"books.db","queries":{"effected":"SELECT id FROM effected ORDER BY 1","laid_aside":"SELECT \"id\", \"origin\", \"tries\" FROM laid_aside ORDER BY 1, 2, 3"},"stream":"ARRIVALS","out":"OUTBOX","dead":"MORGUE","dead_subject":"morgue.letters","consumers":["mill"],"streams":{"ARRIVALS":["arrivals.>"],"OUTBOX":["outbox.>"],"MORGUE":["morgue.letters"]}}""")
ID, KEY, LIMIT = "uid", "origin", 4
MALFORMED, UNKNOWN = "bad-form", "not-listed"
SUBJECTS = ["arrivals.new"]
HANDLED = "effected"
TYPES = {"uid": str, "origin": str, "text": str, "tries": int}

def some_value(random):
    return random.choice(["mills", "ports", "farms", "mines"])


def some_fields(random, index, key, value):
    amount = f"{random.randrange(200)}{random.choice(',.')}{random.randrange(100):02}"
    old = random.choice([{"sum": amount}, {"sum": amount}, {"cents": random.randrange(999)}, {"sum": "much"}])
    return {"text": json.dumps(old), "tries": random.choice([0, 0, 1, 4])}


def hundredths(old):
    if isinstance(old.get("cents"), int) and not isinstance(old["cents"], bool):
        return old["cents"]
    text = old.get("sum")
    if not isinstance(text, str):
        return None
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text)
    if len(digits) > 3 and digits[-3] in ",.":
        digits = digits[:-3] + digits[-2:]
    else:
        digits += "00"
    return sign * int(digits) if digits.isascii() and digits.isdigit() and len(digits) > 2 else None


class Rule:
    def __init__(self):
        self.parked, self.out = [], []

    def apply(self, body, value):
        if body["tries"] >= 4:
            self.parked.append([body[ID], body["origin"], body["tries"]])
            return None
        try:
            old = json.loads(body["text"])
        except ValueError:
            old = None
        amount = hundredths(old) if isinstance(old, dict) else None
        if amount is None:
            return "beyond-repair"
        self.out.append(["outbox." + value, {"id": body[ID], "tries": body["tries"] + 1, "cents": amount}])

    def tables(self):
        return {"laid_aside": self.parked}


def edges(random):
    texts = [json.dumps({"sum": text}) for text in (
        "12", "-0,50", "0.05", "007,10", "12,5", "12,505", "1.000,00", "", "-", ",50", " 12", "12 ", "+3", "12,50\n", "\u0661\u0662"
    )]
    texts += [json.dumps(old) for old in ({"cents": 0}, {"cents": True, "sum": "3"}, {"cents": 4, "sum": "3"}, {"sum": 12}, [], 7, None)]
    texts += ["{", "no JSON", json.dumps({"sum": str(random.randrange(1000))})]
    bodies = [{"origin": "one", "text": text, "tries": 0} for text in texts]
    return {"one": "mills", "two": "ports"}, bodies + [
        {"origin": "two", "text": text, "tries": count} for text in ("{", texts[0]) for count in (3, 4, 5)
    ]

# Runs beside the agent's program, so it only says what it finds.
DRIVER = r'''
import base64, json, os, shutil, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time

sys.path.insert(0, "/opt/queue")
from jetstream import Broker, BrokerError

order = json.loads(base64.b64decode(ORDER))
top = tempfile.mkdtemp()
folder = os.path.join(top, "state")
os.mkdir(folder)
ENDS = time.monotonic() + order["seconds"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def write_directory(value):
    path = os.path.join(folder, order["directory_file"])
    with open(path + ".new", "w") as file:
        json.dump(value, file)
    os.replace(path + ".new", path)


class Server:
    """nats-server with its own store, which outlives a restart."""

    def __init__(self):
        self.port, self.process = free_port(), None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["nats-server", "-js", "-sd", os.path.join(top, "store"), "-a", "127.0.0.1", "-p", str(self.port)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                with Broker(self.port) as broker:
                    broker.api("INFO")
                return
            except (OSError, BrokerError):
                if time.monotonic() > ENDS:
                    raise SystemExit("the broker does not start")
                time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Program:
    """The agent's program, started anew as often as it is ended."""

    def __init__(self, port):
        self.port, self.process = port, None

    def start(self):
        self.process = subprocess.Popen(
            ["python3", order["program"], str(self.port), folder],
            cwd="/tmp", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Relay:
    """Passes bytes on, message by message towards the broker, and does what the order says at the n-th of a kind."""

    def __init__(self, server, program):
        self.server, self.program = server, program
        self.counts, self.done, self.lock = {"ack": 0, "letter": 0, "out": 0, "nak": 0}, set(), threading.Lock()
        self.faults = order["faults"]
        self.ended = threading.Event()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.server.port), 5)
            server.settimeout(None)
        except OSError:
            client.close()
            return
        threading.Thread(target=self.down, args=(server, client), daemon=True).start()
        try:
            self.up(client.makefile("rb"), server)
        except OSError:
            pass
        for one in (client, server):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def down(self, server, client):
        try:
            while data := server.recv(65536):
                client.sendall(data)
        except OSError:
            pass
        for one in (client, server):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def up(self, reader, server):
        while line := reader.readline():
            words, payload = line.split(), b""
            if words and words[0].upper() in (b"PUB", b"HPUB"):
                payload = reader.read(int(words[-1]) + 2)
                if not self.passes(words[1].decode(), payload, server, line):
                    return
            server.sendall(line + payload)

    def passes(self, subject, payload, server, line):
        kind = None
        if subject.startswith("$JS.ACK."):
            kind = "nak" if payload.startswith(b"-NAK") else "ack" if payload[:4] in (b"+ACK", b"\r\n", b"+TER", b"+NXT") else None
        elif not subject.startswith("$JS."):
            kind = "letter" if subject == order["dead_subject"] else "out"
        if kind is None:
            return True
        with self.lock:
            self.counts[kind] += 1
            for index, fault in enumerate(self.faults):
                if index in self.done or fault["at"] != kind or fault["nth"] != self.counts[kind]:
                    continue
                self.done.add(index)
                if fault["do"] == "learn":
                    write_directory(fault["directory"])
                elif fault["do"] == "restart":
                    self.server.stop()
                    time.sleep(0.3)
                    self.server.start()
                    return False
                else:
                    self.program.kill()
                    if fault["do"] == "kill-and-pass":
                        server.sendall(line + payload + b"PING\r\n")
                        time.sleep(0.1)
                    self.program.start()
                    return False
        return True


def stored(broker, stream):
    found = []
    state = broker.api(f"STREAM.INFO.{stream}")["state"]
    for sequence in range(state["first_seq"], state["last_seq"] + 1):
        try:
            message = broker.api(f"STREAM.MSG.GET.{stream}", {"seq": sequence})["message"]
        except BrokerError:
            continue
        found.append([message["subject"], message.get("data", "")])
    return found


def consumer(broker, name):
    try:
        info = broker.consumer(order["stream"], name)
    except BrokerError:
        return None
    config = info["config"]
    return {
        "policy": config.get("ack_policy"), "wait": config.get("ack_wait"),
        "pending": info["num_pending"], "unacknowledged": info["num_ack_pending"],
    }


def rows(database, query):
    path = os.path.join(folder, database)
    if not os.path.exists(path):
        return None
    try:
        with sqlite3.connect(path, timeout=5) as db:
            return [list(row) for row in db.execute(query)]
    except sqlite3.Error as error:
        return str(error)


server = Server()
report = {"runs": []}
try:
    with Broker(server.port) as broker:
        for name, subjects in order["streams"].items():
            broker.api(f"STREAM.CREATE.{name}", {"name": name, "subjects": subjects, "storage": "file"})
    write_directory(order["directory"])
    program = Program(0)
    relay = Relay(server, program)
    program.port = relay.port
    for batch in order["batches"]:
        with Broker(server.port) as broker:
            for subject, data in batch:
                broker.publish(subject, base64.b64decode(data))
        program.start()
        while True:
            process = program.process
            code = process.poll()
            # A fault replaces the process while it holds the lock.
            with relay.lock:
                is_last = program.process is process
            if is_last and code is not None:
                report["runs"].append(code)
                break
            if time.monotonic() > ENDS:
                program.kill()
                report["runs"].append("time")
                break
            time.sleep(0.01)
    report["counts"], report["faults"] = relay.counts, len(relay.done)
    with Broker(server.port) as broker:
        report["consumers"] = [consumer(broker, name) for name in order["consumers"]]
        report["stream"] = len(stored(broker, order["stream"]))
        report["out"] = stored(broker, order["out"])
        report["dead"] = stored(broker, order["dead"])
    report["tables"] = {name: rows(order["database"], query) for name, query in order["queries"].items()}
finally:
    server.stop()
    shutil.rmtree(top, ignore_errors=True)
print(json.dumps(report))
'''


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
