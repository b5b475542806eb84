python3 - <<'PROGRAM'
import hashlib
import json
import time
import urllib.error
import urllib.request
from datetime import date, timedelta

BASE = "http://127.0.0.1:7604"


def send(method, path, body, headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, {"Content-Type": "application/json", **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, json.load(error)


def call(method, path, body=None, version=None, key=None):
    headers = {}
    if version is not None:
        headers["If-Match"] = str(version)
    if key is not None:
        headers["Idempotency-Key"] = key
    while True:
        status, fields, answer = send(method, path, body, headers)
        if status == 429:
            time.sleep(float(fields["Retry-After"]))
        elif status == 504:
            continue
        else:
            return status, answer


def every(path):
    """All records of a collection, page by page."""
    mark, found = "", []
    while True:
        _, page = call("GET", f"{path}{'&' if '?' in path else '?'}limit=20{mark}")
        found += page["items"]
        if page["next"] is None:
            return found
        mark = "&cursor=" + page["next"]


def make(path, body):
    key = hashlib.sha256(f"{path} {json.dumps(body, sort_keys=True)}".encode()).hexdigest()
    status, answer = call("POST", path, body, key=key)
    if status not in (200, 201):
        raise SystemExit(f"{path}: {status} {answer}")
    return answer


def write(record, decide):
    """Writes what 'decide' says of the record as it is now, and decides again when it was changed meanwhile."""
    while True:
        _, row = call("GET", f"/v1/{record}")
        request = decide(row)
        if request is None:
            return None
        method, suffix, body = request
        path = f"/v1/{record}{suffix}"
        status, answer = call(method, path, body, row["version"], f"{path} {row['version']}" if method == "POST" else None)
        if status in (200, 201):
            return answer
        if status != 409:
            raise SystemExit(f"{path}: {status} {answer}")


def note(subject, kind, code, body):
    make("/v1/notes", {"subject": subject, "kind": kind, "code": code, "body": body})


TODAY = call("GET", "/v1/status")[1]["today"]


rooms = every("/v1/rooms")
closed = next(row for row in rooms if row["name"] == "Chalk")
board = {row["id"] for row in every("/v1/people?team=board")}
bookings = {row["id"]: row for row in every("/v1/bookings")}


def is_meant(row):
    return row["room_id"] == closed["id"] and row["status"] == "confirmed" and "0" <= row["day"] <= "2024-04-19"


def is_free(room, row):
    return not any(
        other["room_id"] == room["id"]
        and other["status"] == "confirmed"
        and other["day"] == row["day"]
        and other["start_hour"] < row["end_hour"]
        and row["start_hour"] < other["end_hour"]
        for other in bookings.values()
    )


def best_for(row):
    found = [
        room
        for room in rooms
        if room["id"] != closed["id"]
        and room["seats"] >= row["attendees"]
        and set(row["needs"]) <= set(room["features"])
        and is_free(room, row)
    ]
    found.sort(key=lambda room: (room["floor"] != closed["floor"], room["seats"], room["id"]))
    return found[0] if found else None


def moved(row):
    room = best_for(row) if is_meant(row) else None
    return None if room is None else ("PATCH", "", {"room_id": room["id"]})


def without_room(row):
    return ("POST", "/cancel", {}) if is_meant(row) and best_for(row) is None else None


for booking in sorted(filter(is_meant, bookings.values()), key=lambda row: (row["day"], row["start_hour"], row["id"])):
    subject = "bookings/" + booking["id"]
    if booking["organiser_id"] in board:
        note(subject, "refusal", "board-stays", "The board is not moved.")
        continue
    after = write(subject, moved)
    if after is not None:
        bookings[after["id"]] = after
        note(subject, "change", "moved", "Moved to " + after["room_id"])
        continue
    _, now = call("GET", "/v1/" + subject)
    if is_meant(now):
        write(subject, without_room)
        note(subject, "escalation", "no-room", "No room will do.")
PROGRAM
