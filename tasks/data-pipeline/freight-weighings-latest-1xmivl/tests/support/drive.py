"""Runs the program in the subject on a folder that is laid out there, and reads what it left."""

import base64
import json
import unittest

from sandlot_subject import subject
from support import reference

LAID_OUT = """
import base64, json, pathlib, shutil, sqlite3, subprocess, sys, tempfile

order = json.load(sys.stdin)
top = pathlib.Path(tempfile.mkdtemp(prefix="days-"))
(top / "reference.csv").write_text(order["reference"], encoding="utf-8")
database = top / "out.db" if order["database"] is None else pathlib.Path(order["database"])
codes = []
for files in order["runs"]:
    shutil.rmtree(top / "incoming", ignore_errors=True)
    (top / "incoming").mkdir()
    for name, body in files.items():
        (top / "incoming" / name).write_bytes(base64.b64decode(body))
    words = ["python3", "/app/pipeline.py", str(top / "incoming"), str(top / "reference.csv"), str(database)]
    codes.append(subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=30).returncode)
said = {"codes": codes}
if database.exists():
    connection = sqlite3.connect(database)
    for name, table in (("records", order["table"]), ("daily", "daily"), ("rejects", "rejects")):
        said[name] = [list(row) for row in connection.execute(f"SELECT * FROM {table}")]
json.dump(said, sys.stdout)
"""


def left_by(runs, areas, database=None):
    """What lies in the database after a run on each of the folders; rows sorted."""
    order = {
        "runs": [{name: base64.b64encode(body).decode() for name, body in files.items()} for files in runs],
        "reference": areas,
        "table": reference.S["table"],
        "database": database,
    }
    ran = subject.run(["python3", "-c", LAID_OUT], stdin=json.dumps(order).encode(), timeout_ms=90_000)
    if ran.exit_code != 0:
        raise AssertionError(f"the database could not be read: {ran.stderr.decode(errors='replace')[-300:]}")
    said = json.loads(ran.stdout)
    for name in ("records", "daily", "rejects"):
        said[name] = sorted(said.get(name, [["no database"]]), key=repr)
    return said


class PipelineCase(unittest.TestCase):
    def assert_left(self, runs, areas, *names, database=None):
        said = left_by(runs, areas, database)
        self.assertEqual(said["codes"], [0] * len(runs), "exit codes")
        wanted = reference.expected(runs[-1] if runs else given(), reference.areas_of(areas))
        for name in names:
            self.assertEqual(said[name], sorted(wanted[name], key=repr), name)


def given():
    return {name: body.encode() for name, body in reference.S["given"].items()}
