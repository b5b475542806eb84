#!/bin/bash
# Another way: the shell only starts Python, which has no trouble with names.
set -eu
cat > /app/tidy.sh <<'SHELL'
#!/bin/bash
exec python3 - "$@" <<'PYTHON'
import os
import shutil
import sys

source, target = (os.fsencode(path) for path in sys.argv[1:])
if not os.path.isdir(source):
    print("SOURCE is not a folder", file=sys.stderr)
    sys.exit(2)
paths = []
for folder, _, names in os.walk(source):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path):
            paths.append(os.path.relpath(path, source))
shutil.rmtree(target, ignore_errors=True)
os.makedirs(target)
seen = set()
with open(os.path.join(target, b"inventory"), "wb") as inventory:
    for path in sorted(paths):
        with open(os.path.join(source, path), "rb") as file:
            data = file.read()
        if data in seen:
            continue
        seen.add(data)
        name = os.path.basename(path)
        stem, _, ending = name.rpartition(b".")
        folder = ending.lower() if stem and ending else b"none"
        os.makedirs(os.path.join(target, folder), exist_ok=True)
        place, number = name, 2
        while os.path.lexists(os.path.join(target, folder, place)):
            place, number = name + b".%d" % number, number + 1
        with open(os.path.join(target, folder, place), "wb") as file:
            file.write(data)
        inventory.write(folder + b"/" + place + b"\t%d\0" % len(data))
PYTHON
SHELL
bash /app/tidy.sh /app/inbox /app/sorted
