"""The rules of the task in Python, and a way to run the agent's script on a tree in its own sandbox."""

import base64
import json

from sandlot_subject import subject

SCRIPT = "/app/tidy.sh"

# Runs beside the agent's script, so it only says what it finds; what is right is decided in the tests. Folders under
# `source` are made read-only for the run.
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
runs = []
for _ in range(order["runs"]):
    done = subprocess.run(
        ["/bin/bash", "SCRIPT", source, target],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/tmp", timeout=40,
    )
    runs.append({"exit": done.returncode, "stderr": len(done.stderr), "target": tree(target), "there": os.path.exists(target)})
print(json.dumps({"runs": runs, "source": tree(source)}))
""".replace("SCRIPT", SCRIPT)


def run_script(files, links=(), runs=1):
    """Runs the script on a fresh tree `{path bytes: content bytes}` (None: no such folder); what it left, per run."""
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
    return answer["runs"], decoded(answer["source"])


def encode(data):
    return base64.b64encode(data).decode()


def decoded(pairs):
    return {base64.b64decode(name): base64.b64decode(data) for name, data in pairs}


def extension(name):
    stem, dot, ending = name.rpartition(b".")
    return ending.lower() if dot and stem and ending else b"none"


def sorted_tree(files):
    """What TARGET must hold, the inventory included."""
    kept, seen = {}, set()
    inventory = b""
    for path in sorted(files):
        if files[path] in seen:
            continue
        seen.add(files[path])
        name = path.rsplit(b"/", 1)[-1]
        place = extension(name) + b"/" + name
        number = 2
        while place in kept:
            place = extension(name) + b"/" + name + b".%d" % number
            number += 1
        kept[place] = files[path]
        inventory += place + b"\t%d\0" % len(files[path])
    return {**kept, b"inventory": inventory}
