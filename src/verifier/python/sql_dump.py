"""Plain-SQL dumps of PostgreSQL for `sql_driver.py`, after `sql_postgres.py`: what an agent left, restored as `mover`.

The dump is hostile data. It is read by the server alone, and by no client that knows commands of its own: a line that
would be one (`\\!`, `\\i`, `\\connect`) is refused. Rows between COPY … FROM stdin and `\\.` are sent as rows.
"""

COPY_LINE = re.compile(r"COPY [^;]* FROM stdin;\s*", re.IGNORECASE)
HARMLESS_COMMANDS = ("\\restrict", "\\unrestrict")


class DumpDatabase(Database):
    """A database made from a dump; what is wrong with it is said in place of an answer, for it is the agent's."""

    def __init__(self, engine, name, one):
        super().__init__(engine, name)
        self.broken = None
        try:
            self.guarded(lambda: self.restore(one["dump"]))
            self.guarded(lambda: self.require(one["tables"]))
        except Refused as error:
            self.broken = "the dump does not load: " + str(error)

    def query(self, sql, is_check=False):
        if self.broken is not None:
            raise Refused(self.broken)
        return super().query(sql, is_check)

    def restore(self, dump):
        with self.link("mover", search_path="public") as link:
            for sql, rows in dump_parts(dump):
                state = link.run(sql) if rows is None else link.copy(sql, rows)
                if state != b"I":
                    raise Refused("it leaves a transaction open")
            link.run("GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")

    def require(self, tables):
        with self.link("mover", search_path="pg_catalog", default_transaction_read_only="on") as link:
            there = {row[0] for row in link.ask("SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')")[1]}
        for name in tables:
            if name not in there:
                raise Refused("there is no base table " + name)


def dump_parts(dump):
    """(SQL, None) for statements, (COPY statement, rows) for rows."""
    sql, rows = [], None
    for line in dump.split("\n"):
        if rows is not None:
            if line.rstrip("\r") == "\\.":
                yield sql.pop(), rows
                sql, rows = [], None
            else:
                rows.append(line)
        elif line.startswith("\\"):
            if line.split(" ")[0].strip() not in HARMLESS_COMMANDS:
                raise Refused("it has a command of a client: " + line[:40])
        elif COPY_LINE.fullmatch(line):
            if "".join(sql).strip():
                yield "\n".join(sql), None
            sql, rows = [line], []
        else:
            sql.append(line)
    if rows is not None:
        raise Refused("its rows have no end")
    if "".join(sql).strip():
        yield "\n".join(sql), None
