"""A small client of NATS JetStream for one thread, with nothing but the standard library.

    sys.path.insert(0, "/opt/queue")
    from jetstream import Broker

    with Broker(4222) as broker:
        broker.publish("jobs.new", b"{}", {"Nats-Msg-Id": "7"})
        broker.add_consumer("JOBS", {"durable_name": "mill", "ack_policy": "explicit", "ack_wait": 1_000_000_000})
        for message in broker.fetch("JOBS", "mill", batch=10, wait=0.5):
            message.ack()

Every call raises ConnectionError (an OSError) once the connection is lost; make a new Broker then. What the broker refuses
raises BrokerError, whose code is that of JetStream. Times in configurations are nanoseconds, as the broker has them.
"""

import json
import os
import socket
import time


class BrokerError(Exception):
    """The broker refused a request; code is its JetStream error code, or the status of a reply such as 503."""

    def __init__(self, code, text):
        super().__init__(f"{text} ({code})")
        self.code = code


class Message:
    """A message of a consumer: subject, data (bytes), headers, sequence in its stream, deliveries (1 for the first)."""

    def __init__(self, broker, subject, reply, headers, data):
        self.broker, self.subject, self.headers, self.data = broker, subject, headers, data
        self._reply = reply
        words = reply.split(".")
        # $JS.ACK.STREAM.CONSUMER.DELIVERIES.STREAM_SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING
        self.deliveries, self.sequence = int(words[4]), int(words[5])

    def ack(self):
        """The message is done for good. Returns when the broker has taken note of it."""
        self.broker.request(self._reply, b"+ACK")

    def nak(self, delay=0.0):
        """Not now: the broker delivers the message again after delay seconds."""
        self.broker.send(self._reply, b"-NAK " + json.dumps({"delay": int(delay * 1e9)}).encode())
        self.broker.flush()

    def term(self):
        """The message is never delivered again, though it was not done."""
        self.broker.request(self._reply, b"+TERM")

    def in_progress(self):
        """The time until redelivery begins anew."""
        self.broker.send(self._reply, b"+WPI")


class Broker:
    """One connection to the broker on 127.0.0.1."""

    def __init__(self, port, timeout=5.0):
        self.timeout = timeout
        self._socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._buffer = b""
        self._count = 1
        self._inbox = "_INBOX." + os.urandom(9).hex()
        self._line(time.monotonic() + timeout)
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "lang": "python"}
        self._write(b"CONNECT " + json.dumps(options).encode() + b"\r\n")
        self._write(f"SUB {self._inbox}.* 1\r\n".encode())
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._socket.close()

    def send(self, subject, data, headers=None, reply=""):
        """Sends a message and waits for nothing: whether a stream keeps it is not known."""
        if headers:
            head = "NATS/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
            data = head.encode() + data
            verb = f"HPUB {subject} {reply} {len(head.encode())} {len(data)}"
        else:
            verb = f"PUB {subject} {reply} {len(data)}"
        self._write(verb.encode() + b"\r\n" + data + b"\r\n")

    def flush(self):
        """Waits until the broker has read all that was sent."""
        self._write(b"PING\r\n")
        until = time.monotonic() + self.timeout
        while self._line(until) != b"PONG":
            pass

    def request(self, subject, data=b"", headers=None):
        """Sends a message and returns the data of the one reply to it."""
        inbox = self._next_inbox()
        self.send(subject, data, headers, inbox)
        until = time.monotonic() + self.timeout
        while True:
            _, subject, _, found, body = self._message(until)
            if subject == inbox:
                if found.get("Status"):
                    raise BrokerError(int(found["Status"]), f"no answer on {subject}")
                return body

    def publish(self, subject, data, headers=None):
        """Publishes to a stream and returns its answer: {"stream", "seq"}, and "duplicate": True where the stream dropped
        the message because it had one with the same Nats-Msg-Id header within the last two minutes."""
        return self._checked(self.request(subject, data, headers))

    def api(self, name, body=None):
        """A request of the JetStream API: api("STREAM.CREATE.JOBS", {"name": "JOBS", "subjects": ["jobs.>"]})."""
        return self._checked(self.request("$JS.API." + name, b"" if body is None else json.dumps(body).encode()))

    def add_consumer(self, stream, config):
        """Makes the durable consumer config["durable_name"]; one that is there with the same configuration stays as it is."""
        name = config["durable_name"]
        return self.api(f"CONSUMER.DURABLE.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})

    def consumer(self, stream, name):
        """State of a consumer: "num_pending" messages never delivered yet, "num_ack_pending" delivered and not acknowledged."""
        return self.api(f"CONSUMER.INFO.{stream}.{name}")

    def fetch(self, stream, consumer, batch=1, wait=1.0):
        """Up to batch messages; fewer, or none, where no more come within wait seconds."""
        # Messages come with their own subject: what tells one fetch from another is the number of its subscription.
        inbox = self._next_inbox() + ".fetch"
        number = str(self._count)
        ask = {"batch": batch, "expires": int(wait * 1e9)}
        self._write(f"SUB {inbox} {number}\r\n".encode())
        self.send(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", json.dumps(ask).encode(), None, inbox)
        until = time.monotonic() + wait + self.timeout
        messages = []
        while len(messages) < batch:
            came, subject, reply, headers, data = self._message(until)
            if came != number:
                continue
            status = headers.get("Status")
            if status is None:
                messages.append(Message(self, subject, reply, headers, data))
            elif status != "100":
                if status not in ("404", "408", "409"):
                    raise BrokerError(int(status), headers.get("Description", "refused"))
                break
        self._write(f"UNSUB {number}\r\n".encode())
        return messages

    def _next_inbox(self):
        self._count += 1
        return f"{self._inbox}.{self._count}"

    def _checked(self, data):
        answer = json.loads(data)
        if "error" in answer:
            error = answer["error"]
            raise BrokerError(error.get("err_code", error.get("code", 0)), error.get("description", "refused"))
        return answer

    def _write(self, data):
        self._socket.settimeout(self.timeout)
        self._socket.sendall(data)

    def _more(self, until):
        left = until - time.monotonic()
        if left <= 0:
            raise ConnectionError("the broker does not answer")
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(65536)
        except socket.timeout:
            raise ConnectionError("the broker does not answer") from None
        if not data:
            raise ConnectionError("the broker closed the connection")
        self._buffer += data

    def _line(self, until):
        while True:
            while b"\r\n" not in self._buffer:
                self._more(until)
            line, self._buffer = self._buffer.split(b"\r\n", 1)
            if line == b"PING":
                self._write(b"PONG\r\n")
            elif line.startswith(b"-ERR"):
                raise ConnectionError(line.decode())
            else:
                return line

    def _message(self, until):
        """The next message: number of its subscription, subject, reply subject, headers, data."""
        while True:
            words = self._line(until).decode().split(" ")
            if words[0] in ("MSG", "HMSG"):
                break
        has_headers = words[0] == "HMSG"
        size = int(words[-1])
        while len(self._buffer) < size + 2:
            self._more(until)
        data, self._buffer = self._buffer[:size], self._buffer[size + 2 :]
        headers = {}
        if has_headers:
            length = int(words[-2])
            lines, data = data[:length].decode().split("\r\n"), data[length:]
            status = lines[0].split(" ", 2)
            if len(status) > 1:
                headers["Status"] = status[1]
                headers["Description"] = status[2] if len(status) > 2 else ""
            for line in lines[1:]:
                if ":" in line:
                    name, value = line.split(":", 1)
                    headers[name] = value.strip()
        reply = words[3] if len(words) == (6 if has_headers else 5) else ""
        return words[2], words[1], reply, headers, data
