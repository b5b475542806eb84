"""A small back office over HTTP: collections with pages, versions, idempotency keys and a request limit."""
import base64
import hashlib
import json
import os
import re
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

HOME = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HOME, "settings.json"), encoding="utf-8") as source:
    SETTINGS = json.load(source)

PAGE_DEFAULT, PAGE_MAX = 10, 20
BODY_MAX = 65536


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status, error, detail, **more):
        super().__init__(detail)
        self.status, self.answer = status, {"error": error, "detail": detail, **more}


def need(is_met, detail, error="invalid", status=422):
    if not is_met:
        raise Refused(status, error, detail)


def text_of(body, field, most=500):
    value = body.get(field)
    need(isinstance(value, str) and 0 < len(value.strip()) and len(value) <= most, f"{field} must be a text of 1 to {most} characters")
    return value


def count_of(body, field, least=1, most=100_000_000):
    value = body.get(field)
    need(type(value) is int and least <= value <= most, f"{field} must be a whole number from {least} to {most}")
    return value


def only(body, *fields):
    unknown = sorted(set(body) - set(fields))
    need(not unknown, f"unknown field {', '.join(unknown)}; known here: {', '.join(fields)}")


def labels_of(body):
    value = body.get("labels")
    is_list = isinstance(value, list) and all(isinstance(item, str) and re.fullmatch("[a-z0-9-]{1,40}", item) for item in value)
    need(is_list and len(set(value)) == len(value), "labels must be a list of different words of a-z, 0-9 and -")
    return value


class Store:
    """All rows; one transaction for each request."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA journal_mode = DELETE")
        self.connection.execute("PRAGMA synchronous = OFF")

    def create(self):
        for name, collection in COLLECTIONS.items():
            columns = ", ".join(f'"{field}"' for field in collection["fields"])
            self.connection.execute(f'CREATE TABLE "{name}" (id TEXT PRIMARY KEY, {columns}, version INTEGER NOT NULL)')
        self.connection.execute(
            "CREATE TABLE request_log (n INTEGER PRIMARY KEY, method TEXT, path TEXT, record TEXT, status INTEGER)"
        )
        self.connection.execute("CREATE TABLE answered (key TEXT PRIMARY KEY, request TEXT, status INTEGER, answer TEXT)")
        self.connection.execute("BEGIN")
        for name, rows in SETTINGS["tables"].items():
            for row in rows:
                self.put(name, {"version": 1, **row})
        self.connection.execute("COMMIT")

    def put(self, name, row):
        fields = ["id", *COLLECTIONS[name]["fields"], "version"]
        values = [self.packed(name, field, row.get(field)) for field in fields]
        names = ", ".join(f'"{field}"' for field in fields)
        marks = ", ".join("?" for _ in fields)
        self.connection.execute(f'INSERT INTO "{name}" ({names}) VALUES ({marks})', values)

    def packed(self, name, field, value):
        return json.dumps(value) if field in COLLECTIONS[name].get("json", ()) else value

    def unpacked(self, name, row):
        lists = COLLECTIONS[name].get("json", ())
        return {field: json.loads(row[field]) if field in lists else row[field] for field in row.keys()}

    def rows(self, name, where="", values=()):
        return [self.unpacked(name, row) for row in self.connection.execute(f'SELECT * FROM "{name}" {where} ORDER BY id', values)]

    def find(self, name, record_id):
        found = self.rows(name, "WHERE id = ?", (record_id,))
        need(found, f"there is no {name}/{record_id}", "not_found", 404)
        return found[0]

    def insert(self, name, **fields):
        prefix = COLLECTIONS[name]["prefix"]
        (last,) = self.connection.execute(f'SELECT max(id) FROM "{name}"').fetchone()
        row = {"id": f"{prefix}-{int(last.split('-')[1]) + 1 if last else 1001}", **fields, "version": 1}
        self.put(name, row)
        return row

    def change(self, name, record_id, **fields):
        row = self.find(name, record_id)
        for field, value in {**fields, "version": row["version"] + 1}.items():
            self.connection.execute(
                f'UPDATE "{name}" SET "{field}" = ? WHERE id = ?', (self.packed(name, field, value), record_id)
            )
        return self.find(name, record_id)


def create_note(store, body):
    only(body, "subject", "kind", "code", "body")
    name, _, record_id = text_of(body, "subject", 80).partition("/")
    need(name in COLLECTIONS and name != "notes", "subject must be COLLECTION/ID, such as " + NOTE_EXAMPLE)
    store.find(name, record_id)
    need(body.get("kind") in NOTE_KINDS, "kind must be one of " + ", ".join(NOTE_KINDS))
    need(re.fullmatch("[a-z0-9-]{1,40}", str(body.get("code"))), "code must be a word of a-z, 0-9 and -")
    return store.insert("notes", subject=body["subject"], kind=body["kind"], code=body["code"], body=text_of(body, "body"))


NOTE_KINDS = ("change", "refusal", "escalation")
NOTES = {"prefix": "N", "fields": ["subject", "kind", "code", "body"], "filters": ["subject", "kind", "code"], "create": create_note}

STATES = ("open", "pending", "solved")
PRIORITIES = ("low", "normal", "high", "urgent")


def one_of(field, values):
    def check(body):
        need(body.get(field) in values, f"{field} must be one of {', '.join(values)}")
        return body[field]

    return check


def assignee_of(body):
    value = body.get("assignee_id")
    need(value is None or (isinstance(value, str) and store.find("agents", value)), "assignee_id must be an agent or null")
    return value


def not_merged(store, row, fields):
    need(row["status"] != "merged", "a ticket that was merged cannot be changed", "wrong_state")


def merge_ticket(store, row, body):
    only(body, "into")
    into = store.find("tickets", text_of(body, "into", 40))
    need(into["id"] != row["id"], "a ticket cannot be merged into itself")
    for ticket in (row, into):
        need(ticket["status"] in ("open", "pending"), f"{ticket['id']} is {ticket['status']} and takes no part in a merge", "wrong_state")
    return store.change("tickets", row["id"], status="merged", merged_into=into["id"])


def create_comment(store, body):
    only(body, "ticket_id", "author_id", "body")
    ticket = store.find("tickets", text_of(body, "ticket_id", 40))
    author = store.find("agents", text_of(body, "author_id", 40))
    return store.insert("comments", ticket_id=ticket["id"], author_id=author["id"], body=text_of(body, "body"))


COLLECTIONS = {
    "requesters": {"prefix": "Q", "fields": ["name", "email", "plan"], "filters": ["name", "email", "plan"]},
    "agents": {"prefix": "A", "fields": ["name", "team"], "filters": ["name", "team"]},
    "tickets": {
        "prefix": "T",
        "json": ["labels"],
        "fields": ["requester_id", "subject", "reference", "status", "priority", "labels", "assignee_id", "merged_into", "opened_on"],
        "filters": ["status", "priority", "assignee_id"],
        "patch": {
            "labels": labels_of,
            "status": one_of("status", STATES),
            "priority": one_of("priority", PRIORITIES),
            "assignee_id": assignee_of,
        },
        "guard": not_merged,
        "actions": {"merge": merge_ticket},
    },
    "comments": {"prefix": "K", "fields": ["ticket_id", "author_id", "body"], "filters": ["ticket_id"], "create": create_comment},
    "notes": NOTES,
}
NOTE_EXAMPLE = "tickets/T-1001"


class Desk:
    """Answers requests one at a time."""

    def __init__(self, store):
        self.store, self.lock = store, threading.Lock()
        self.answered_since, self.closed_until = 0, 0.0
        self.edits = {edit["record"]: edit["set"] for edit in SETTINGS["edits"]}
        self.losses = list(SETTINGS["losses"])

    def answer(self, method, target, headers, body):
        """Status, further headers and the answer as JSON."""
        with self.lock:
            path = unquote(urlsplit(target).path).rstrip("/")
            refused = self.limited()
            status, answer = (429, refused) if refused else self.attempt(method, path, target, headers, body)
            parts = path.split("/")
            record = "/".join(parts[2:4]) if len(parts) > 3 else ""
            self.store.connection.execute(
                "INSERT INTO request_log (method, path, record, status) VALUES (?, ?, ?, ?)", (method, target, record, status)
            )
            return status, ({"Retry-After": "1"} if refused else {}), answer

    def limited(self):
        """Closed for a second after each so many requests; what comes meanwhile is refused and does nothing."""
        if time.monotonic() < self.closed_until:
            return {"error": "too_many_requests", "detail": "wait for the seconds that Retry-After names"}
        self.answered_since += 1
        if self.answered_since <= SETTINGS["burst"]:
            return None
        self.answered_since, self.closed_until = 0, time.monotonic() + 1
        return {"error": "too_many_requests", "detail": "wait for the seconds that Retry-After names"}

    def attempt(self, method, path, target, headers, body):
        connection = self.store.connection
        connection.execute("BEGIN")
        try:
            status, answer = self.keyed(method, path, target, headers, body)
            connection.execute("COMMIT")
        except Refused as refused:
            connection.execute("ROLLBACK")
            return refused.status, refused.answer
        except Exception as error:
            connection.execute("ROLLBACK")
            return 500, {"error": "broken", "detail": type(error).__name__}
        if status == 201 and self.is_lost(path, answer):
            return 504, {"error": "answer_lost", "detail": "the answer did not arrive in time; the write may or may not be done"}
        return status, answer

    def is_lost(self, path, answer):
        for loss in self.losses:
            if path.startswith(loss["path"]) and all(answer.get(field) == value for field, value in loss["where"].items()):
                self.losses.remove(loss)
                return True
        return False

    def keyed(self, method, path, target, headers, body):
        key = headers.get("Idempotency-Key") if method == "POST" else None
        request = hashlib.sha256(b" ".join([path.encode(), body])).hexdigest()
        if key:
            need(len(key) <= 200, "Idempotency-Key must have at most 200 characters", status=400)
            known = self.store.connection.execute("SELECT * FROM answered WHERE key = ?", (key,)).fetchone()
            if known:
                need(known["request"] == request, "this Idempotency-Key was used for another request", "key_reused")
                return 200, json.loads(known["answer"])
        status, answer = self.routed(method, path, target, headers, body)
        if key and status < 300:
            self.store.connection.execute("INSERT INTO answered VALUES (?, ?, ?, ?)", (key, request, status, json.dumps(answer)))
        return status, answer

    def routed(self, method, path, target, headers, body):
        parts = path.strip("/").split("/")
        need(parts[0] == "v1" and 2 <= len(parts) <= 4, f"there is nothing at {path}", "not_found", 404)
        name = parts[1]
        if name == "status" and method == "GET" and len(parts) == 2:
            return 200, {"today": SETTINGS["today"], "service": SETTINGS["service"]}
        need(name in COLLECTIONS, f"there is no collection {name}", "not_found", 404)
        collection = COLLECTIONS[name]
        if method == "GET" and len(parts) == 2:
            return 200, self.page(name, collection, target)
        if method == "GET" and len(parts) == 3:
            return 200, self.store.find(name, parts[2])
        fields = None
        if method in ("POST", "PATCH"):
            fields = self.fields(body)
        if method == "POST" and len(parts) == 2 and "create" in collection:
            return 201, collection["create"](self.store, fields)
        if method == "PATCH" and len(parts) == 3 and "patch" in collection:
            row = self.current(name, parts[2], headers)
            only(fields, *collection["patch"])
            need(fields, "name a field to change")
            checked = {field: collection["patch"][field](fields) for field in fields}
            if "guard" in collection:
                collection["guard"](self.store, row, checked)
            return 200, self.store.change(name, row["id"], **checked)
        if method == "POST" and len(parts) == 4 and parts[3] in collection.get("actions", {}):
            row = self.current(name, parts[2], headers)
            return 201, collection["actions"][parts[3]](self.store, row, fields)
        raise Refused(405, "not_allowed", f"{method} {path} is not served")

    def fields(self, body):
        try:
            fields = json.loads(body or b"{}")
        except ValueError:
            fields = None
        need(isinstance(fields, dict), "the body must be a JSON object", status=400)
        return fields

    def current(self, name, record_id, headers):
        """The record, if the client has its present version. A planned edit of a colleague comes first, once."""
        row = self.store.find(name, record_id)
        stated = headers.get("If-Match", "").strip().strip('"')
        need(stated != "", "state the version you have in If-Match", "version_missing", 428)
        edit = self.edits.pop(f"{name}/{record_id}", None)
        if edit is not None:
            row = self.store.change(name, record_id, **edit)
            # The edit stands whatever becomes of this request.
            self.store.connection.execute("COMMIT")
            self.store.connection.execute("BEGIN")
        if stated != str(row["version"]):
            raise Refused(409, "stale", f"{name}/{record_id} was changed meanwhile; read it again", version=row["version"])
        return row

    def page(self, name, collection, target):
        query = {field: values[-1] for field, values in parse_qs(urlsplit(target).query, keep_blank_values=True).items()}
        unknown = sorted(set(query) - {"limit", "cursor", *collection.get("filters", ())})
        need(not unknown, f"unknown parameter {', '.join(unknown)}", status=400)
        limit = query.get("limit", str(PAGE_DEFAULT))
        need(re.fullmatch("[0-9]{1,4}", limit) and 1 <= int(limit) <= PAGE_MAX, f"limit must be from 1 to {PAGE_MAX}", status=400)
        after = ""
        if "cursor" in query:
            try:
                after = base64.urlsafe_b64decode(query["cursor"].encode()).decode()
            except ValueError:
                raise Refused(400, "invalid", "this cursor was not given by the server") from None
        where, values = ["id > ?"], [after]
        for field in collection.get("filters", ()):
            if field in query:
                where.append(f'"{field}" = ?')
                values.append(query[field])
        rows = self.store.rows(name, "WHERE " + " AND ".join(where), values)
        items = rows[: int(limit)]
        more = len(rows) > len(items)
        return {"items": items, "next": base64.urlsafe_b64encode(items[-1]["id"].encode()).decode() if more else None}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def serve(self):
        size = self.headers.get("Content-Length", "0")
        if not size.isdigit() or int(size) > BODY_MAX:
            self.close_connection = True
            return self.reply(413, {}, {"error": "invalid", "detail": f"a body has at most {BODY_MAX} bytes"})
        body = self.rfile.read(int(size))
        return self.reply(*desk.answer(self.command, self.path, self.headers, body))

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = serve

    def reply(self, status, headers, answer):
        data = json.dumps(answer, ensure_ascii=False).encode() + b"\n"
        self.send_response(status)
        for field, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(field, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Requests are kept in request_log."""


store = Store(os.path.join(HOME, "desk.db"))
store.create()
desk = Desk(store)
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", SETTINGS["port"]), Handler).serve_forever()
