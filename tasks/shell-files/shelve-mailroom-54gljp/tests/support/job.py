"""The job of this task on a tree in memory, and the agent's script on the same tree in its own sandbox."""

import base64
import hashlib
import json
import pathlib
import unittest

from sandlot_subject import artifacts, random, subject

JOB = json.loads(r"""{"script":"shelve","source":"mailroom","target":"cabinet","report":"hash-path","reportName":"index","other":"rest","select":{"kind":"all"},"place":{"kind":"folder"},"rename":"none","dedup":"first","collision":"suffix","takesHidden":true,"exitCode":2}""")
SCRIPT = "/app/shelve.sh"

# Runs beside the agent's script, so it only says what it finds; what is right is decided in the tests.
DRIVER = r"""
import base64, json, os, subprocess, sys, tempfile

order = json.loads(sys.stdin.buffer.read())
top = os.fsencode(tempfile.mkdtemp())
source, target = os.path.join(top, b"the source"), os.path.join(top, b"the target")
if order["source"] is not None:
    os.mkdir(source)
    for name, data in order["source"]:
        path = os.path.join(source, base64.b64decode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
    for name, to in order["links"]:
        os.symlink(base64.b64decode(to), os.path.join(source, base64.b64decode(name)))

def tree(root):
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                data = b"link to " + os.readlink(path)
            else:
                with open(path, "rb") as file:
                    data = file.read(1 << 20)
            found.append([base64.b64encode(os.path.relpath(path, root)).decode(), base64.b64encode(data).decode()])
    return sorted(found)

for folder, _, _ in os.walk(source):
    os.chmod(folder, 0o555)
before = tree(source)
runs = []
for _ in range(order["runs"]):
    done = subprocess.run(
        ["/bin/bash", "SCRIPT", source, target],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/tmp", timeout=40,
    )
    runs.append({"exit": done.returncode, "said": len(done.stderr), "target": tree(target), "there": os.path.exists(target)})
print(json.dumps({"runs": runs, "kept": tree(source) == before}))
""".replace("SCRIPT", SCRIPT)


def encode(data):
    return base64.b64encode(data).decode()


def decoded(pairs):
    return {base64.b64decode(name): base64.b64decode(data) for name, data in pairs}


def run_script(files, links=(), runs=1):
    """What the script leaves of a fresh tree, for each run; None for files: there is no source."""
    order = {
        "source": None if files is None else [[encode(name), encode(data)] for name, data in files.items()],
        "links": [[encode(name), encode(to)] for name, to in links],
        "runs": runs,
    }
    done = subject.run(
        ["/usr/bin/python3", "-I", "-c", DRIVER], stdin=json.dumps(order).encode(), timeout_ms=50_000 * runs
    )
    if done.timed_out or done.exit_code != 0:
        raise AssertionError(f"the script did not end: {done.stderr[-400:]!r}")
    answer = json.loads(done.stdout)
    for entry in answer["runs"]:
        entry["target"] = decoded(entry["target"])
    return answer["runs"], answer["kept"]


def own_name(path):
    return path.rsplit(b"/", 1)[-1]


def extension(name):
    dot = name.rfind(b".")
    return name[dot + 1 :].lower() if 0 < dot < len(name) - 1 else None


def first_line(data):
    return data.partition(b"\n")[0]


def is_filed(path, data):
    rule = JOB["select"]
    if not JOB["takesHidden"] and any(part[:1] == b"." for part in path.split(b"/")):
        return False
    if rule["kind"] == "extensions":
        ending = extension(own_name(path))
        return ending is not None and ending.decode("latin-1") in rule["of"]
    if rule["kind"] == "bytes-min":
        return len(data) >= rule["bytes"]
    if rule["kind"] == "first-line":
        return rule["word"].encode() in first_line(data)
    return True


def folder_of(path, data):
    rule, other = JOB["place"], JOB["other"].encode()
    kind = rule["kind"]
    if kind == "extension":
        return extension(own_name(path)) or other
    if kind == "letter":
        first = own_name(path)[:1].lower()
        return first if b"a" <= first <= b"z" else other
    if kind == "size":
        return b"small" if len(data) < rule["small"] else b"medium" if len(data) < rule["large"] else b"large"
    if kind == "folder":
        return path.split(b"/")[0] if b"/" in path else other
    head, value = (rule["field"] + ": ").encode(), first_line(data)
    value = value[len(head) :] if value.startswith(head) else b""
    return value if value and all(97 <= byte <= 122 for byte in value) else other


def new_name(path, number):
    name, rule = own_name(path), JOB["rename"]
    if rule == "lower":
        return bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in name)
    if rule == "underscores":
        return name.replace(b" ", b"_")
    if rule == "numbered":
        return b"%04d-" % number + name
    if rule == "folder-prefix" and b"/" in path:
        return path.split(b"/")[-2] + b"-" + name
    return name


def filed(files):
    """What the target must hold, the report included."""
    paths = sorted(path for path in files if is_filed(path, files[path]))
    if JOB["dedup"] == "first":
        paths = [path for at, path in enumerate(paths) if files[path] not in {files[other] for other in paths[:at]}]
    elif JOB["dedup"] == "last":
        paths = [path for at, path in enumerate(paths) if files[path] not in {files[other] for other in paths[at + 1 :]}]
    holds = {}
    for number, path in enumerate(paths, 1):
        folder, name = folder_of(path, files[path]), new_name(path, number)
        at = folder + b"/" + name
        if JOB["collision"] == "larger" and at in holds:
            if len(files[path]) > len(files[holds[at]]):
                holds[at] = path
            continue
        count = 1
        while at in holds:
            count += 1
            at = folder + (b"/%s.%d" % (name, count) if JOB["collision"] == "suffix" else b"/%d-%s" % (count, name))
        holds[at] = path
    records = []
    for at, path in holds.items():
        size = b"%d" % len(files[path])
        records.append(
            {
                "path-size": at + b"\t" + size,
                "size-path": size + b" " + at,
                "hash-path": hashlib.sha256(files[path]).hexdigest().encode() + b"  " + at,
                "path-origin": at + b"\t" + path,
            }[JOB["report"]]
        )
    report = b"".join(one + b"\0" for one in records)
    return {**{at: files[path] for at, path in holds.items()}, JOB["reportName"].encode(): report}


def content(label, index=0):
    """A text that some selections take and some do not; new in each grading, never equal to another."""
    numbers = random(f"{label}:{index}")
    words = [numbers.choice("amber birch cedar dune ember fjord".split()) for _ in range(numbers.randrange(1, 8))]
    value = numbers.choice(["north", "south", "west"])
    rule, place = JOB["select"], JOB["place"]
    if place["kind"] == "field" and rule["kind"] != "first-line":
        head = numbers.choice([f"{place['field']}: {value}", f"{place['field']}: {value.upper()}", f"{place['field']}:{value}"])
    elif rule["kind"] == "first-line":
        head = numbers.choice([f"a {rule['word']} of {value}", rule["word"], rule["word"].lower(), value])
    else:
        head = value
    return f"{head}\n{' '.join(words)}\n{label} {index} {numbers.randrange(10**6)}\n".encode()


def taken(label, index=0):
    """A text that every selection takes."""
    rule = JOB["select"]
    word = rule["word"] + " " if rule["kind"] == "first-line" else ""
    return f"{word}{label} {index} {random(f'{label}:{index}').randrange(10**9)}, long enough for all of them\n".encode()


def ending():
    rule = JOB["select"]
    return "." + rule["of"][0] if rule["kind"] == "extensions" else ".txt"


class JobTestCase(unittest.TestCase):
    maxDiff = 2_000

    def assert_files(self, files, links=()):
        [run], is_kept = run_script(files, links)
        self.assertEqual(run["exit"], 0)
        self.assertTrue(is_kept, "the source was changed")
        self.assertEqual(run["target"], filed(files))
