"""SQLite for `sql_driver.py`: databases in memory, or a file an agent left that is opened for reading only.

A text of the agent runs with defensive mode, an authorizer that allows what its kind needs and nothing else, bounds of
SQLite itself and a clock that the text cannot reach.
"""
import _sqlite3
import ctypes
import hashlib
import re
import sqlite3
import time

QUERY_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
CHANGE_DENIED = {
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
    sqlite3.SQLITE_CREATE_VTABLE,
    sqlite3.SQLITE_DROP_VTABLE,
    # A temporary object hides the real one of its name from whatever asks later.
    sqlite3.SQLITE_CREATE_TEMP_TABLE,
    sqlite3.SQLITE_CREATE_TEMP_VIEW,
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
    sqlite3.SQLITE_CREATE_TEMP_INDEX,
}
CHANGE_PRAGMAS = {"foreign_keys", "defer_foreign_keys", "legacy_alter_table", "foreign_key_check", "user_version"}
FUNCTIONS_DENIED = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}
DEFENSIVE = 1010
LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LENGTH: 16 * 1024 * 1024,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 256 * 1024,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class Engine:
    def __init__(self, request):
        self.request = request

    def database(self, one):
        return Database(one, self.request["timeoutMs"] / 1000)

    def close(self):
        pass


def make_defensive(db):
    """Nothing may write the schema table or other internals, whatever it asks for."""
    if hasattr(db, "setconfig"):
        db.setconfig(DEFENSIVE, True)
        return
    # The handle is the first member of the connection object.
    handle = ctypes.c_void_p.from_address(id(db) + object.__basicsize__)
    state = ctypes.c_int(0)
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_db_config(handle, ctypes.c_int(DEFENSIVE), ctypes.c_int(1), ctypes.byref(state))
    if state.value != 1:
        raise RuntimeError("SQLite of this image has no defensive mode")


class Database:
    def __init__(self, one, seconds):
        self.seconds = seconds
        self.deadline = None
        path = one.get("file")
        if path is None:
            self.db = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
            self.db.executescript(one["schema"])
            self.db.executescript(one["data"])
        else:
            # A file with a log beside it has rows that only a connection that may write takes in.
            mode = "?mode=rw" if one["hasLog"] else "?mode=ro&immutable=1"
            self.db = sqlite3.connect("file:" + path + mode, uri=True, isolation_level=None, cached_statements=0)
        self.db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        make_defensive(self.db)
        for setting in ("trusted_schema=OFF", "temp_store=MEMORY", "cell_size_check=ON", "mmap_size=0"):
            self.db.execute("PRAGMA " + setting)
        for name, value in LIMITS.items():
            self.db.setlimit(name, value)
        self.db.set_progress_handler(self.is_late, 2_000)
        if path is not None:
            self.check(one)

    def is_late(self):
        return 1 if self.deadline is not None and time.monotonic() > self.deadline else 0

    def check(self, one):
        """Says what is wrong with a file in place of an answer: it is the agent's."""
        self.broken = None
        try:
            self.deadline = time.monotonic() + self.seconds
            said = self.db.execute("PRAGMA integrity_check(1)").fetchone()
            if said != ("ok",):
                self.broken = "the database is damaged: " + str(said and said[0])[:200]
            kinds = dict(self.db.execute("SELECT lower(name), type || coalesce(sql LIKE 'create virtual%', 0) FROM sqlite_schema"))
            for name in one["tables"]:
                if kinds.get(name.lower()) != "table0":
                    self.broken = self.broken or "there is no base table " + name
        except sqlite3.Error as error:
            self.broken = "the file is no usable SQLite database: " + str(error)

    def run(self, work, authorizer):
        if getattr(self, "broken", None) is not None:
            raise Refused(self.broken)
        self.deadline = time.monotonic() + self.seconds
        self.db.set_authorizer(authorizer)
        try:
            return work()
        except (sqlite3.Error, sqlite3.Warning, MemoryError, ValueError, OverflowError) as error:
            late = time.monotonic() > self.deadline
            raise Refused("the time limit of %g s was reached" % self.seconds if late else str(error) or "out of memory")
        finally:
            self.db.set_authorizer(None)
            self.deadline = None

    def query(self, sql, is_check=False):
        self.db.execute("PRAGMA query_only=ON")
        try:
            answer = self.run(lambda: self.fetch(sql), query_authorizer)
            reads = [] if is_check else self.run(lambda: self.reads(sql), query_authorizer)
        finally:
            self.db.execute("PRAGMA query_only=OFF")
        return {**answer.plain(), "reads": reads}

    def fetch(self, sql):
        cursor = self.db.execute(sql)
        if cursor.description is None:
            raise Refused("the text gives no rows")
        answer = Answer([{"name": one[0], "type": ""} for one in cursor.description])
        for row in cursor:
            answer.add([cell(value) for value in row])
        return answer

    def reads(self, sql):
        """The base tables whose pages, or whose indexes' pages, the compiled text opens."""
        opened = {row[3] for row in self.db.execute("EXPLAIN " + sql) if row[1] == "OpenRead" and row[4] == 0}
        self.db.set_authorizer(None)
        pages = self.db.execute("SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0")
        return sorted({table for page, table in pages if page in opened})

    def change(self, sql):
        def work():
            self.db.executescript(sql)
            if self.db.in_transaction:
                raise Refused("the migration leaves a transaction open")

        self.run(work, change_authorizer)

    def snapshot(self):
        """What stands in the schema, in an order of its own, and a checksum of each table."""
        objects, data = {}, {}
        for kind, name, table, sql in self.db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"):
            if kind == "table":
                objects["table " + name] = self.table(name)
                data[name] = self.checksum(name)
            elif kind == "index":
                columns = [row[2] for row in self.pragma("index_info", name)]
                unique = [row[2] for row in self.pragma("index_list", table) if row[1] == name]
                where = re.sub(r"(?is)^.*?\bwhere\b", "", sql) if sql and re.search(r"(?i)\bwhere\b", sql) else ""
                key = "index on %s %s" % (table, json.dumps([columns, unique, spaced(where)]))
                objects[key] = []
            else:
                objects[kind + " " + name] = [spaced(sql)]
        return {"objects": objects, "data": data}

    def table(self, name):
        columns = sorted(json.dumps([row[1], row[2].upper(), row[3], row[4], row[5], row[6]]) for row in self.pragma("table_xinfo", name))
        keys = sorted(json.dumps(list(row[2:])) for row in self.pragma("foreign_key_list", name))
        return columns + keys

    def pragma(self, pragma, name):
        return self.db.execute('PRAGMA %s("%s")' % (pragma, name.replace('"', '""'))).fetchall()

    def checksum(self, name):
        columns = sorted(row[1] for row in self.pragma("table_xinfo", name))
        listed = ",".join('"%s"' % column.replace('"', '""') for column in columns)
        rows = self.db.execute('SELECT %s FROM "%s"' % (listed, name.replace('"', '""')))
        lines = sorted(json.dumps([cell(value) for value in row]) for row in rows)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def spaced(sql):
    return " ".join((sql or "").split())


def query_authorizer(action, first, second, database, source):
    if action not in QUERY_ACTIONS:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS_DENIED:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def change_authorizer(action, first, second, database, source):
    if action in CHANGE_DENIED:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() not in CHANGE_PRAGMAS:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS_DENIED:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def cell(value):
    """One letter for the type, then the value; None is NULL."""
    if value is None:
        return None
    if type(value) is int:
        return "i%d" % value
    if type(value) is float:
        return "f" + repr(value)
    if type(value) is bytes:
        return "b" + value.hex()
    return "t" + value
