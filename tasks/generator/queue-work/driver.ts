/**
 * What runs beside the agent's program in the subject sandbox: a broker of its own, a relay between program and broker
 * that can end the program or the broker at a chosen word of the protocol, and a report of what is there in the end.
 * It only says what it finds; what is right is decided in the tests. Every wait is bounded.
 */

export const DRIVER = String.raw`
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
`;
