"""PostgreSQL for `sql_driver.py`: a server of the image on a fresh cluster, reached over a Unix socket alone.

Three roles: `owner` makes databases, `mover` owns what the task's schema makes and runs migrations, `reader` may only
read. None but `owner` is a superuser, and `owner` never runs or touches what an agent wrote.
"""
import glob
import gzip
import hashlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tarfile
import tempfile
import time

START_SECONDS = 30
MARGIN_SECONDS = 3
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "shared_buffers": "16MB",
    "max_connections": "12",
    "max_worker_processes": "0",
    "autovacuum": "off",
    "jit": "off",
    "temp_file_limit": "64MB",
    "work_mem": "8MB",
    "dynamic_shared_memory_type": "mmap",
    "shared_preload_libraries": "",
    "local_preload_libraries": "",
    "session_preload_libraries": "",
    "log_min_messages": "fatal",
}
# What a client says of itself outranks what a role or a database was told to use.
PINNED = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "row_security": "on",
    "check_function_bodies": "on",
}
WHOLE, FLOATS = {20, 21, 23, 26}, {700, 701}
SCANS = {"Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Tid Scan", "Tid Range Scan", "Sample Scan"}
OWN = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
OBJECTS = (
    # Each gives a name and one line about it; names that a person need not choose are left out.
    "SELECT 'table ' || c.oid::regclass, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
    " a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), c.relkind, c.relrowsecurity)"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid"
    " LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum"
    " WHERE c.relkind IN ('r', 'p', 'f') AND a.attnum > 0 AND NOT a.attisdropped AND " + OWN,
    "SELECT 'table ' || o.conrelid::regclass, pg_get_constraintdef(o.oid) FROM pg_constraint o"
    " JOIN pg_namespace n ON n.oid = o.connamespace WHERE o.conrelid <> 0 AND " + OWN,
    "SELECT 'index on ' || i.indrelid::regclass || ' ' || regexp_replace(pg_get_indexdef(i.indexrelid),"
    " 'INDEX .*? ON', 'INDEX ON'), '' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE " + OWN,
    "SELECT CASE c.relkind WHEN 'S' THEN 'sequence ' ELSE 'view ' END || c.oid::regclass,"
    " CASE c.relkind WHEN 'S' THEN '' ELSE pg_get_viewdef(c.oid) END FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v', 'm', 'S') AND " + OWN,
    "SELECT 'function ' || p.oid::regprocedure, pg_get_functiondef(p.oid) FROM pg_proc p"
    " JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.prokind IN ('f', 'p') AND " + OWN,
    "SELECT 'trigger ' || t.tgname || ' on ' || t.tgrelid::regclass, pg_get_triggerdef(t.oid) FROM pg_trigger t"
    " JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE NOT t.tgisinternal AND " + OWN,
    "SELECT 'rule ' || r.rulename || ' on ' || r.ev_class::regclass, pg_get_ruledef(r.oid) FROM pg_rewrite r"
    " JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE r.rulename <> '_RETURN' AND " + OWN,
    "SELECT 'type ' || t.oid::regtype, concat_ws(' ', t.typtype, e.enumlabel, e.enumsortorder) FROM pg_type t"
    " JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_enum e ON e.enumtypid = t.oid"
    " WHERE t.typtype IN ('e', 'd', 'r') AND " + OWN,
    "SELECT 'schema ' || n.nspname, '' FROM pg_namespace n WHERE " + OWN,
    "SELECT 'policy ' || p.polname || ' on ' || p.polrelid::regclass, p.polcmd::text FROM pg_policy p",
)
TABLES = (
    "SELECT c.oid::regclass::text, array_to_string(ARRAY(SELECT quote_ident(attname) FROM pg_attribute"
    " WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped ORDER BY attname), ', ') FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND " + OWN
)


class Failed(Exception):
    """The server refused a statement."""


class Engine:
    def __init__(self, request):
        self.seconds = request["timeoutMs"] / 1000
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
        if not found:
            raise Absent("the image has no PostgreSQL server below /usr/lib/postgresql")
        programs = os.path.dirname(found[-1])
        self.folder = tempfile.mkdtemp(prefix="sql-")
        self.count = 0
        self.data = self.folder + "/data"
        if request.get("cluster") is None:
            self.make(programs)
        else:
            os.mkdir(self.data, 0o700)
            with tarfile.open(request["cluster"], "r:gz") as packed:
                packed.extractall(self.data)
        settings = [word for name, value in SETTINGS.items() for word in ("-c", name + "=" + value)]
        where = ["-D", self.data, "-k", self.folder, "-c", "unix_socket_permissions=0700"]
        self.log = open(self.folder + "/log", "wb")
        self.server = subprocess.Popen([programs + "/postgres", *where, *settings], stdout=self.log, stderr=self.log)
        self.owner = self.first_link()
        if request.get("cluster") is None:
            self.owner.run("CREATE ROLE mover LOGIN; CREATE ROLE reader LOGIN")
            self.owner.run("DROP DATABASE postgres")

    def make(self, programs):
        make = [programs + "/initdb", "-D", self.data, "-U", "owner", "--auth=trust", "--locale=C", "-E", "UTF8"]
        made = subprocess.run(make + ["--no-sync", "--no-instructions", "--wal-segsize=1"], capture_output=True)
        if made.returncode != 0:
            raise RuntimeError("initdb: " + made.stderr.decode("utf-8", "replace")[-300:])

    def pack(self, descriptor):
        """Writes the cluster, stopped and empty but for its roles, for later sandboxes of the same image."""
        self.owner.socket.close()
        self.server.send_signal(signal.SIGINT)
        self.server.wait(START_SECONDS)
        with os.fdopen(descriptor, "wb") as out, gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as small:
            with tarfile.open(fileobj=small, mode="w|") as packed:
                packed.add(self.data, arcname=".")

    def first_link(self):
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.link("owner", "template1", {}, START_SECONDS)
            except (OSError, Failed) as error:
                if time.monotonic() > end or self.server.poll() is not None:
                    said = open(self.folder + "/log", "rb").read()[-300:].decode("utf-8", "replace")
                    raise RuntimeError("the server did not start: %s %s" % (error, said))
                time.sleep(0.01)

    def link(self, role, name, settings, seconds):
        return Link(self.folder + "/.s.PGSQL.5432", {"user": role, "database": name, **PINNED, **settings}, seconds)

    def database(self, one):
        self.count += 1
        name = "data%d" % self.count
        self.owner.run("CREATE DATABASE %s TEMPLATE template0" % name)
        self.owner.run("REVOKE ALL ON DATABASE %s FROM PUBLIC; GRANT CONNECT ON DATABASE %s TO mover, reader" % (name, name))
        with self.link("owner", name, {}, START_SECONDS) as owner:
            owner.run("ALTER SCHEMA public OWNER TO mover; REVOKE ALL ON SCHEMA public FROM PUBLIC")
        if "dump" in one:
            return DumpDatabase(self, name, one)
        with self.link("mover", name, {"search_path": "public"}, START_SECONDS) as mover:
            mover.run(one["schema"])
            mover.run(one["data"])
            mover.run("GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        return Database(self, name)

    def close(self):
        self.server.kill()
        self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Database:
    def __init__(self, engine, name):
        self.engine = engine
        self.name = name

    def link(self, role, **settings):
        seconds = self.engine.seconds
        limits = {"statement_timeout": "%d" % (seconds * 1000), "idle_in_transaction_session_timeout": "0"}
        return self.engine.link(role, self.name, {**limits, **settings}, seconds + MARGIN_SECONDS)

    def guarded(self, work):
        try:
            return work()
        except Failed as error:
            raise Refused(str(error))
        except (socket.timeout, TimeoutError):
            raise Refused("the time limit of %g s was reached" % self.engine.seconds)
        except (OSError, struct.error) as error:
            raise Refused("the text ended its connection: %s" % error)

    def query(self, sql, is_check=False):
        return self.guarded(lambda: self.asked("mover" if is_check else "reader", sql, not is_check))

    def asked(self, role, sql, is_planned):
        with self.link(role, search_path="public", default_transaction_read_only="on") as link:
            link.run("BEGIN READ ONLY")
            columns, rows = link.ask(sql)
            # A text may end its transaction, but nothing is asked of that connection any more.
        with self.link(role, search_path="public", default_transaction_read_only="on") as link:
            reads = self.reads(link, sql) if is_planned else []
            types = {oid: one for oid, one in self.types(link, columns)}
        answer = Answer([{"name": name, "type": types.get(oid, "")} for name, oid in columns])
        for row in rows:
            answer.add([cell(value, oid) for value, (_, oid) in zip(row, columns)])
        return {**answer.plain(), "reads": reads}

    def types(self, link, columns):
        oids = ",".join(str(oid) for _, oid in columns) or "0"
        rows = link.ask("SELECT oid, pg_catalog.format_type(oid, NULL) FROM pg_catalog.pg_type WHERE oid IN (%s)" % oids)[1]
        return [(int(oid), name) for oid, name in rows]

    def reads(self, link, sql):
        """The base tables that the plan scans."""
        plan = json.loads("".join(row[0] for row in link.ask("EXPLAIN (VERBOSE, FORMAT JSON) " + sql)[1]))
        found, left = set(), [plan]
        while left:
            node = left.pop()
            if isinstance(node, list):
                left.extend(node)
            elif isinstance(node, dict):
                left.extend(node.values())
                if node.get("Node Type") in SCANS and not str(node.get("Schema", "pg_")).startswith(("pg_", "information_")):
                    found.add(node["Relation Name"])
        return sorted(found)

    def change(self, sql):
        def work():
            with self.link("mover", search_path="public") as link:
                if link.run(sql) != b"I":
                    raise Refused("the migration leaves a transaction open")

        self.guarded(work)

    def snapshot(self):
        return self.guarded(self.stands)

    def stands(self):
        objects, data = {}, {}
        with self.link("mover", search_path="pg_catalog", default_transaction_read_only="on") as link:
            for query in OBJECTS:
                for name, line in link.ask(query)[1]:
                    objects.setdefault(name, []).append(" ".join((line or "").split()))
            for table, columns in link.ask(TABLES)[1]:
                rows = link.ask("SELECT %s FROM ONLY %s" % (columns, table))[1] if columns else []
                lines = sorted(json.dumps(row) for row in rows)
                data[table] = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        return {"objects": {name: sorted(lines) for name, lines in objects.items()}, "data": data}


class Link:
    """One connection, in the server's own protocol: so that a text is one statement, and its rows come with their types."""

    def __init__(self, path, parameters, seconds):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        self.socket.connect(path)
        self.end = time.monotonic() + seconds
        self.seconds = seconds
        self.rest = b""
        self.copied = None
        words = b"".join(name.encode() + b"\0" + value.encode() + b"\0" for name, value in parameters.items())
        self.socket.sendall(struct.pack("!ii", len(words) + 9, 196608) + words + b"\0")
        self.until_ready()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def run(self, sql):
        """Statements of which no rows are wanted; gives the state of the transaction after them."""
        self.send(b"Q", text(sql))
        return self.until_ready()

    def copy(self, sql, rows):
        self.copied = "".join(row + "\n" for row in rows).encode("utf-8", "replace")
        return self.run(sql)

    def ask(self, sql):
        """Columns (name, type) and rows of one statement; another one beside it is refused."""
        self.send(b"P", b"\0" + text(sql) + b"\0\0")
        self.send(b"D", b"S\0")
        self.send(b"B", b"\0\0\0\0\0\0\0\0")
        self.send(b"E", b"\0" + struct.pack("!i", ROWS_MAX + 1))
        self.send(b"S", b"")
        columns, rows = [], []
        self.until_ready(columns, rows)
        if not columns:
            raise Failed("the text gives no rows")
        return columns, rows

    def send(self, kind, body):
        self.socket.sendall(kind + struct.pack("!i", len(body) + 4) + body)

    def until_ready(self, columns=None, rows=None):
        self.end = time.monotonic() + self.seconds
        failure, size = None, 0
        while True:
            kind, body = self.message()
            if kind == b"E" and failure is None:
                fields = dict((part[:1], part[1:]) for part in body.split(b"\0") if part)
                failure = fields.get(b"M", b"").decode("utf-8", "replace")
                if fields.get(b"C") == b"57014":
                    failure = "the time limit was reached"
            elif kind == b"G":
                if self.copied is None:
                    self.send(b"f", b"no data comes\0")
                else:
                    self.send(b"d", self.copied)
                    self.send(b"c", b"")
                self.copied = None
            elif kind == b"H":
                failure = failure or "copying out is not served"
            elif kind == b"T" and columns is not None:
                columns.extend(described(body))
            elif kind == b"D" and rows is not None:
                size += len(body)
                if size > BYTES_MAX:
                    raise Failed("the answer has more than %d bytes" % BYTES_MAX)
                rows.append(values(body))
            elif kind == b"Z":
                if failure is not None:
                    raise Failed(failure)
                return body

    def message(self):
        head = self.take(5)
        return head[:1], self.take(struct.unpack("!i", head[1:])[0] - 4)

    def take(self, count):
        while len(self.rest) < count:
            left = self.end - time.monotonic()
            if left <= 0:
                raise TimeoutError()
            self.socket.settimeout(left)
            more = self.socket.recv(1 << 16)
            if not more:
                raise Failed("the server ended the connection")
            self.rest += more
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken


def text(sql):
    if "\0" in sql:
        raise Failed("the text holds NUL")
    return sql.encode("utf-8", "replace") + b"\0"


def described(body):
    at, columns = 2, []
    for _ in range(struct.unpack("!h", body[:2])[0]):
        end = body.index(b"\0", at)
        columns.append((body[at:end].decode("utf-8", "replace"), struct.unpack("!I", body[end + 7 : end + 11])[0]))
        at = end + 19
    return columns


def values(body):
    at, row = 2, []
    for _ in range(struct.unpack("!h", body[:2])[0]):
        size = struct.unpack("!i", body[at : at + 4])[0]
        at += 4
        row.append(None if size < 0 else body[at : at + size].decode("utf-8", "surrogateescape"))
        at += max(size, 0)
    return row


def cell(value, oid):
    """One letter for the type, then the value; None is NULL."""
    if value is None:
        return None
    if oid in WHOLE:
        return "i" + value
    if oid in FLOATS:
        return "f" + repr(float(value))
    if oid == 1700:
        return "n" + value
    if oid == 17:
        return "b" + value[2:]
    if oid == 16:
        return "otrue" if value == "t" else "ofalse"
    return "t" + value
