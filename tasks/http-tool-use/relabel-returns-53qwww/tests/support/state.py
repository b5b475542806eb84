"""The rows of the tickets desk: as they began, as they were wanted, and as they are."""
import json
import pathlib
import sqlite3

from sandlot_subject import artifacts

HERE = pathlib.Path(__file__).parent
BEFORE = {
    table: {row["id"]: {**row, "version": row.get("version", 1)} for row in rows}
    for table, rows in json.loads((HERE / "before.json").read_text(encoding="utf-8")).items()
}
WANTED = json.loads((HERE / "wanted.json").read_text(encoding="utf-8"))
ALL = [row for rows in WANTED.values() for row in rows]
# Ids are the server's, versions follow from the writes, and nobody is told what to write in a note.
FREE = {"id", "version", "body"}


def after():
    path = artifacts / "srv/desk/desk.db"
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    tables = {table: {row["id"]: dict(row) for row in connection.execute(f'SELECT * FROM "{table}"')} for table in BEFORE}
    connection.close()
    for table, rows in tables.items():
        for row in rows.values():
            for field in row:
                if is_packed(table, field):
                    row[field] = json.loads(row[field])
    return tables


def is_packed(table, field):
    """Lists are kept as JSON."""
    known = [*BEFORE[table].values(), *(row["fields"] for row in ALL if row["table"] == table)]
    return any(isinstance(row.get(field), list) for row in known)


def fits(row, wanted):
    return all(row.get(field) == value for field, value in wanted["fields"].items())


def made(tables, wanted):
    """The new rows that are what was wanted."""
    rows = tables[wanted["table"]]
    return [key for key, row in rows.items() if key not in BEFORE[wanted["table"]] and fits(row, wanted)]


def missing(group, times=None):
    """What was wanted of this group and is not there."""
    tables = after()
    absent = []
    for wanted in WANTED[group]:
        if wanted["id"] is None:
            count = len(made(tables, wanted))
            is_there = count >= 1 if times is None else count == times
        else:
            row = tables[wanted["table"]].get(wanted["id"])
            is_there = row is not None and fits(row, wanted)
        if not is_there:
            absent.append((wanted["about"], wanted["aspect"]))
    return absent


def times_done():
    tables = after()
    return [len(made(tables, wanted)) for wanted in ALL if wanted["id"] is None]


def gone():
    tables = after()
    return [f"{table}/{key}" for table, rows in BEFORE.items() for key in rows if key not in tables[table]]


def changes_wanted():
    wanted = {}
    for row in ALL:
        if row["id"] is not None:
            wanted.setdefault((row["table"], row["id"]), set()).update(row["fields"])
    return wanted


def disturbed():
    """Rows that nothing was wanted of and that are not as they began."""
    tables, wanted = after(), changes_wanted()
    return [
        f"{table}/{key}"
        for table, rows in BEFORE.items()
        for key, row in rows.items()
        if (table, key) not in wanted and key in tables[table] and tables[table][key] != row
    ]


def overwritten():
    """Fields that changed in a row of which others were wanted to."""
    tables = after()
    return [
        f"{table}/{key}: {field}"
        for (table, key), fields in changes_wanted().items()
        for field, value in BEFORE[table][key].items()
        if field not in fields | {"version"} and key in tables[table] and tables[table][key][field] != value
    ]


def uncalled():
    """New rows that are none of the wanted; one that is there twice is the matter of another test."""
    tables = after()
    called = {(row["table"], key) for row in ALL if row["id"] is None for key in made(tables, row)}
    return [
        f"{table}/{key}"
        for table, rows in tables.items()
        for key in rows
        if key not in BEFORE[table] and (table, key) not in called
    ]
