"""Sends requests to services of the product over the loopback of their sandbox, as a user they cannot reach.

Descriptor 4 brings one JSON object a line, 3 takes one for each: `hello` at the start, then for `ready` whether a port
could be connected to, and for `request` the answer or why there is none. Nothing is followed, decoded or believed here:
the platform holds the answers against what it expects, which never enters this sandbox.
"""
import base64
import http.client
import json
import os
import signal
import socket
import time

ANSWERS, REQUESTS = 3, 4
BODY_BYTES_MAX = 1 << 20


class Late(BaseException):
    """The whole request took too long, however lively the service was."""


def on_alarm(number, frame):
    raise Late


def ready(asked):
    deadline = time.monotonic() + asked["seconds"]
    while (left := deadline - time.monotonic()) > 0:
        try:
            socket.create_connection(("127.0.0.1", asked["port"]), timeout=left).close()
            return {"isReady": True}
        except OSError:
            time.sleep(0.01)
    return {"isReady": False}


def request(asked):
    connection = http.client.HTTPConnection("127.0.0.1", asked["port"], timeout=asked["seconds"])
    try:
        signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
        connection.request(asked["method"], asked["path"], base64.b64decode(asked["body"]) or None, asked["headers"])
        answer = connection.getresponse()
        body = answer.read(BODY_BYTES_MAX + 1)
        if len(body) > BODY_BYTES_MAX:
            return {"failed": f"the body has more than {BODY_BYTES_MAX} bytes", "isLate": False}
        if answer.length:
            return {"failed": f"the body ended {answer.length} bytes early", "isLate": False}
        encoded = base64.b64encode(body).decode("ascii")
        return {"status": answer.status, "headers": answer.getheaders(), "body": encoded}
    except (Late, TimeoutError):
        return {"failed": f"no whole answer within {asked['seconds']} s", "isLate": True}
    except (OSError, http.client.HTTPException, ValueError) as error:
        return {"failed": f"no answer ({type(error).__name__}: {error})"[:400], "isLate": False}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        connection.close()


def tell(answer):
    data = json.dumps(answer).encode("ascii") + b"\n"
    while data:
        data = data[os.write(ANSWERS, data) :]


def main():
    signal.signal(signal.SIGALRM, on_alarm)
    tell({"hello": True})
    with os.fdopen(REQUESTS, "rb") as requests:
        while line := requests.readline():
            asked = json.loads(line)
            try:
                tell(ready(asked) if asked["kind"] == "ready" else request(asked))
            except Late:
                tell({"failed": "no whole answer in time", "isLate": True})


main()
