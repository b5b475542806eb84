cat > /app/shelve.sh <<'SCRIPT'
#!/bin/bash
# Files the tree below $1 into $2, in Python.
if [ ! -d "$1" ]; then
  echo "not a folder: $1" >&2
  exit 5
fi
exec python3 -I - "$1" "$2" <<'PYTHON'
import hashlib
import json
import os
import re
import shutil
import sys

JOB = json.loads(r"""{"script":"shelve","source":"mailroom","target":"depot","report":"path-size","reportName":"ledger","other":"rest","select":{"kind":"all"},"place":{"kind":"folder"},"rename":"underscores","dedup":"none","collision":"suffix","takesHidden":true,"exitCode":5}""")
source, target = (os.fsencode(word) for word in sys.argv[1:])
OTHER = JOB["other"].encode()


def extension(name):
    stem, dot, ending = name.rpartition(b".")
    return ending.lower() if stem and ending and dot else b""


def read(path):
    with open(os.path.join(source, path), "rb") as file:
        return file.read()


paths = []
for folder, folders, names in os.walk(source):
    for name in names:
        full = os.path.join(folder, name)
        if os.path.isfile(full) and not os.path.islink(full):
            paths.append(os.path.relpath(full, source))
paths.sort()
if not JOB["takesHidden"]:
    paths = [path for path in paths if not any(part.startswith(b".") for part in path.split(b"/"))]
texts = {path: read(path) for path in paths}

select = JOB["select"]
if select["kind"] == "extensions":
    wanted = {one.encode() for one in select["of"]}
    paths = [path for path in paths if extension(path.rsplit(b"/", 1)[-1]) in wanted]
elif select["kind"] == "bytes-min":
    paths = [path for path in paths if len(texts[path]) >= select["bytes"]]
elif select["kind"] == "first-line":
    paths = [path for path in paths if select["word"].encode() in texts[path].split(b"\n", 1)[0]]

if JOB["dedup"] != "none":
    kept = {}
    for path in paths if JOB["dedup"] == "last" else reversed(paths):
        kept[texts[path]] = path
    chosen = set(kept.values())
    paths = [path for path in paths if path in chosen]


def folder_of(path):
    place, name, text = JOB["place"], path.rsplit(b"/", 1)[-1], texts[path]
    if place["kind"] == "extension":
        return extension(name) or OTHER
    if place["kind"] == "letter":
        return name[:1].lower() if re.match(rb"[A-Za-z]", name) else OTHER
    if place["kind"] == "size":
        return b"small" if len(text) < place["small"] else b"large" if len(text) >= place["large"] else b"medium"
    if place["kind"] == "folder":
        return path.split(b"/")[0] if b"/" in path else OTHER
    found = re.fullmatch(place["field"].encode() + rb": ([a-z]+)", text.split(b"\n", 1)[0])
    return found[1] if found else OTHER


def name_of(path, number):
    name = path.rsplit(b"/", 1)[-1]
    if JOB["rename"] == "lower":
        return name.lower()
    if JOB["rename"] == "underscores":
        return name.replace(b" ", b"_")
    if JOB["rename"] == "numbered":
        return b"%04d-%s" % (number, name)
    if JOB["rename"] == "folder-prefix" and b"/" in path:
        return path.split(b"/")[-2] + b"-" + name
    return name


places = {}
for number, path in enumerate(paths, 1):
    folder, name = folder_of(path), name_of(path, number)
    at, count = folder + b"/" + name, 2
    if JOB["collision"] == "larger":
        if at in places and len(texts[path]) <= len(texts[places[at]]):
            continue
    while at in places and JOB["collision"] != "larger":
        at = folder + (b"/%s.%d" % (name, count) if JOB["collision"] == "suffix" else b"/%d-%s" % (count, name))
        count += 1
    places[at] = path

shutil.rmtree(target, ignore_errors=True)
os.makedirs(target)
report = b""
for at, path in places.items():
    os.makedirs(os.path.dirname(os.path.join(target, at)), exist_ok=True)
    with open(os.path.join(target, at), "wb") as file:
        file.write(texts[path])
    size, digest = len(texts[path]), hashlib.sha256(texts[path]).hexdigest().encode()
    report += {
        "path-size": b"%s\t%d" % (at, size),
        "size-path": b"%d %s" % (size, at),
        "hash-path": b"%s  %s" % (digest, at),
        "path-origin": b"%s\t%s" % (at, path),
    }[JOB["report"]] + b"\0"
with open(os.path.join(target, JOB["reportName"].encode()), "wb") as file:
    file.write(report)
PYTHON
SCRIPT
bash /app/shelve.sh /app/mailroom /app/depot
