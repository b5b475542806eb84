python3 - <<'PROGRAM'
import hashlib
import json
import time
import urllib.error
import urllib.request
from datetime import date, timedelta

BASE = "http://127.0.0.1:7172"


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


products = {row["id"]: row for row in every("/v1/products")}
old = next(row for row in products.values() if row["title"] == "Cedar Rucksack")
new = next(row for row in products.values() if row["title"] == "Dune Clock")


def asks(row):
    return row["status"] in ("placed", "packed", "shipped") and any(line["product_id"] == old["id"] for line in row["lines"])


def refusal(row):
    if row["status"] == "shipped":
        return "refusal", "under-way"
    if row["status"] == "packed":
        return "refusal", "packed"
    if False:
        return "refusal", "kept"
    if sum(line["quantity"] for line in row["lines"]) > 7:
        return "escalation", "too-large"
    wanted = sum(line["quantity"] for line in row["lines"] if line["product_id"] == old["id"])
    return ("refusal", "no-stock") if wanted >= new["stock"] else None


def cancelled(row):
    return None if not asks(row) or refusal(row) else ("POST", "/cancel", {})


for order in every("/v1/orders"):
    if not asks(order):
        continue
    gone = write("orders/" + order["id"], cancelled)
    if gone is None:
        _, now = call("GET", "/v1/orders/" + order["id"])
        if asks(now):
            note("orders/" + order["id"], *refusal(now), "It could not be replaced.")
        continue
    lines = []
    for line in gone["lines"]:
        product = new if line["product_id"] == old["id"] else products[line["product_id"]]
        lines.append({"product_id": product["id"], "quantity": line["quantity"], "unit_cents": product["price_cents"]})
    labels = gone["labels"] + ["instead-of-" + gone["id"].lower()]
    make("/v1/orders", {"customer_id": gone["customer_id"], "city": gone["city"], "lines": lines, "labels": labels})
PROGRAM
