"""Runs SQL text of an agent against fresh databases, in a sandbox that holds no expected value.

Standard input brings one JSON request; descriptor 3 takes lines that begin with the request's nonce: `hello`, then
`fault FILE-PART MESSAGE` when the task's own schema or data cannot be loaded, else `ready`, then one `result` for each
data set and `end`. The kind `cluster` packs an empty cluster of a slow engine to descriptor 4 instead. All databases are made before the first byte of the agent is executed, so that a fault is the task's.
Needs the engine's part (`sql_sqlite.py` or `sql_postgres.py`) before it in the same program text.
"""
import json
import os
import sys

ROWS_MAX = 20_000
BYTES_MAX = 4 * 1024 * 1024


class Refused(Exception):
    """The SQL text was refused, failed or took too long; said to people."""


class Absent(Exception):
    """The image has no such engine."""


class Answer:
    """Rows taken so far, within the bounds of an answer."""

    def __init__(self, columns):
        self.columns = columns
        self.rows = []
        self.bytes = 0

    def add(self, row):
        self.rows.append(row)
        self.bytes += 8 + sum(len(cell) + 4 if cell is not None else 4 for cell in row)
        if len(self.rows) > ROWS_MAX or self.bytes > BYTES_MAX:
            raise Refused("the answer has more than %d rows or %d bytes" % (ROWS_MAX, BYTES_MAX))

    def plain(self):
        return {"columns": self.columns, "rows": self.rows}


def serve(request, say):
    try:
        engine = Engine(request)
    except Absent as error:
        return say("fault", str(error))
    databases = []
    try:
        if request["kind"] == "cluster":
            return engine.pack(4)
        for one in request["datasets"]:
            try:
                databases.append(engine.database(one))
            except Exception as error:
                return say("fault", one["name"] + " " + str(error)[:400])
        say("ready")
        for database in databases:
            try:
                reply = answered(database, request)
            except Refused as error:
                reply = {"refused": str(error)[:400]}
            say("result", json.dumps(reply, ensure_ascii=True))
        say("end")
    finally:
        engine.close()


def answered(database, request):
    if request["kind"] == "query":
        return database.query(request["sql"])
    reply = {"before": database.snapshot()}
    database.change(request["sql"])
    reply["after"] = database.snapshot()
    reply["checks"] = [database.query(sql, True) for sql in request["checks"]]
    if request["back"] is not None:
        database.change(request["back"])
        reply["back"] = database.snapshot()
    return reply


def main():
    request = json.loads(sys.stdin.buffer.read())
    nonce = request.pop("nonce")
    os.set_inheritable(3, False)

    def say(kind, rest=""):
        line = (nonce + " " + kind + " " + rest).encode("utf-8", "backslashreplace").replace(b"\n", b" ") + b"\n"
        while line:
            line = line[os.write(3, line) :]

    say("hello")
    serve(request, say)


main()
