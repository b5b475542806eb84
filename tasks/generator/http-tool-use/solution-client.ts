/**
 * How solutions talk to the server: a small Python client with pages, waiting, keys and versions, once over urllib and
 * once over curl, and with the mistakes that wrong solutions make.
 */

/** What a wrong client does not do. */
export type ClientFlaw = "first-page-only" | "new-key-each-try" | "gives-up-when-limited" | "keeps-stale-copy";

const URLLIB = `
def send(method, path, body, headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, {"Content-Type": "application/json", **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, json.load(error)
`;

const CURL = String.raw`
def send(method, path, body, headers):
    words = ["curl", "-sS", "-i", "--max-time", "20", "-X", method, BASE + path]
    for name, value in headers.items():
        words += ["-H", f"{name}: {value}"]
    if body is not None:
        words += ["-H", "Content-Type: application/json", "--data-binary", json.dumps(body)]
    head, _, text = subprocess.run(words, capture_output=True, check=True).stdout.decode().partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), json.loads(text)
`;

const CLIENT = `
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
        _, page = call("GET", f"{path}{'&' if '?' in path else '?'}limit=LIMIT{mark}")
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
`;

const FLAWS: Readonly<Record<ClientFlaw, readonly [string, string]>> = {
  "first-page-only": ['if page["next"] is None:', "if True:"],
  "new-key-each-try": [
    "status, fields, answer = send(method, path, body, headers)",
    'headers.update({"Idempotency-Key": str(time.monotonic_ns())} if method == "POST" else {})\n        status, fields, answer = send(method, path, body, headers)',
  ],
  "gives-up-when-limited": [
    'time.sleep(float(fields["Retry-After"]))',
    'return (200, {"items": [], "next": None, "today": "2024-01-01"}) if method == "GET" else (201, {})',
  ],
  "keeps-stale-copy": [
    "if status != 409:",
    'if status == 409:\n            return call(method, path, body, answer["version"])[1]\n        if status != 409:',
  ],
};

/** A script that acts through the client: `solve` is Python, changed by `edit` where a rule is to be broken. */
export function solveScript(
  base: string,
  solve: string,
  options: { readonly isCurl?: boolean; readonly flaw?: ClientFlaw } = {},
): string {
  const { isCurl = false, flaw } = options;
  const imports = isCurl
    ? "import hashlib\nimport json\nimport subprocess\nimport time"
    : "import hashlib\nimport json\nimport time\nimport urllib.error\nimport urllib.request";
  const client = CLIENT.replace("LIMIT", isCurl ? "7" : "20");
  const flawed = flaw === undefined ? client : replaced(client, ...FLAWS[flaw]);
  const program = `${imports}\nfrom datetime import date, timedelta\n\nBASE = "${base}"\n\n${isCurl ? CURL : URLLIB}\n${flawed}\n\n${solve.trim()}\n`;
  return `python3 - <<'PROGRAM'\n${program.replaceAll(/\n{4,}/g, "\n\n\n")}PROGRAM\n`;
}

/** The text with its one occurrence of `from` replaced; a flaw that changes nothing would be no flaw. */
export function replaced(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new RangeError(`${JSON.stringify(from)} does not occur once`);
  return text.replace(from, () => to);
}
