"""Runs the query in the subject on databases that are built there."""

import json
import unittest

from sandlot_subject import subject
from support import reference

BUILT = """
import json, pathlib, sqlite3, sys

order = json.load(sys.stdin)
query = pathlib.Path("/app/query.sql").read_text(encoding="utf-8")
said = []
for data in order["databases"]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(order["schema"])
    for name, rows in data.items():
        for row in rows:
            connection.execute(f"INSERT INTO {order['tables'][name]} VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.execute("PRAGMA query_only = ON")
    found = connection.execute(query)
    columns = len(found.description or ())
    said.append({"rows": [list(row) for row in found], "columns": columns})
json.dump(said, sys.stdout)
"""


def asked_of(databases):
    """What the query gives for each of the databases."""
    order = {"databases": databases, "schema": reference.S["schema"], "tables": reference.S["tables"]}
    ran = subject.run(["python3", "-c", BUILT], stdin=json.dumps(order).encode(), timeout_ms=20_000)
    if ran.exit_code != 0:
        raise AssertionError(f"the query could not be run: {ran.stderr.decode(errors='replace')[-300:]}")
    return json.loads(ran.stdout)


class QueryCase(unittest.TestCase):
    def assert_rows(self, databases):
        self.assertTrue(databases)
        for data, said in zip(databases, asked_of(databases), strict=True):
            self.assertEqual(said["rows"], reference.rows_of(data), f"of {json.dumps(data)[:400]}")
