/** The hidden tests: the job decided anew in Python on fresh trees, and a way to run the agent's script on them. */
import type { DraftFiles } from "../../../src/task/draft.ts";
import type { Job, Tree } from "./job.ts";

/** Test ids of each tier, as the manifest will have them, with what each of them holds. */
export const TESTS = {
  unit: {
    file: "unit/test_plain.py",
    group: "TestPlain",
    names: ["test_selection_and_places", "test_names", "test_report", "test_the_tree_that_was_given"],
  },
  integration: {
    file: "integration/test_large.py",
    group: "TestLarge",
    names: ["test_many_files", "test_deep_folders", "test_equal_contents"],
  },
  boundary: {
    file: "boundary/test_odd.py",
    group: "TestOdd",
    names: [
      ...["test_spaces_and_newlines", "test_quotes_globs_and_dashes", "test_dots_in_odd_places", "test_hidden"],
      ...["test_links", "test_equal_places", "test_byte_order", "test_sizes_and_first_lines_at_the_edge"],
      ...["test_nothing_to_file", "test_again", "test_missing_source"],
    ],
  },
} as const;

export function testId(tier: keyof typeof TESTS, name: string): string {
  const { file, group } = TESTS[tier];
  return `${file}::${group}.${name}`;
}

export function hiddenTests(job: Job, given: Tree): DraftFiles {
  return {
    "support/__init__.py": "",
    "support/job.py": supportFile(job),
    "support/given.json": JSON.stringify(given, null, 1),
    "unit/test_plain.py": UNIT,
    "integration/test_large.py": INTEGRATION,
    "boundary/test_odd.py": BOUNDARY,
  };
}

function supportFile(job: Job): string {
  return `"""The job of this task on a tree in memory, and the agent's script on the same tree in its own sandbox."""

import base64
import hashlib
import json
import pathlib
import unittest

from sandlot_subject import artifacts, random, subject

JOB = json.loads(r"""${JSON.stringify(job)}""")
SCRIPT = "/app/${job.script}.sh"
${DRIVER}
${RULES}
${TREES}`;
}

const DRIVER = `
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
`;

const RULES = `
def own_name(path):
    return path.rsplit(b"/", 1)[-1]


def extension(name):
    dot = name.rfind(b".")
    return name[dot + 1 :].lower() if 0 < dot < len(name) - 1 else None


def first_line(data):
    return data.partition(b"\\n")[0]


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
                "path-size": at + b"\\t" + size,
                "size-path": size + b" " + at,
                "hash-path": hashlib.sha256(files[path]).hexdigest().encode() + b"  " + at,
                "path-origin": at + b"\\t" + path,
            }[JOB["report"]]
        )
    report = b"".join(one + b"\\0" for one in records)
    return {**{at: files[path] for at, path in holds.items()}, JOB["reportName"].encode(): report}
`;

const TREES = `
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
    return f"{head}\\n{' '.join(words)}\\n{label} {index} {numbers.randrange(10**6)}\\n".encode()


def taken(label, index=0):
    """A text that every selection takes."""
    rule = JOB["select"]
    word = rule["word"] + " " if rule["kind"] == "first-line" else ""
    return f"{word}{label} {index} {random(f'{label}:{index}').randrange(10**9)}, long enough for all of them\\n".encode()


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
`;

const UNIT = `"""Small trees with plain names, and the tree that was given."""

import json
import pathlib

from sandlot_subject import artifacts
from support import job


class TestPlain(job.JobTestCase):
    def test_selection_and_places(self):
        names = ["a.txt", "docs/b.md", "docs/c.csv", "img/d.jpg", "e.log", "img/f.pdf", "g.json", "h.conf", "img/i", "9.txt"]
        self.assert_files({name.encode(): job.content(name) for name in names})

    def test_names(self):
        end = job.ending()
        names = [f"Plain{end}", f"two words{end}", f"docs/UPPER{end}", f"docs/deep/mixed Case{end}", f"low{end}"]
        self.assert_files({name.encode(): job.taken(name) for name in names})

    def test_report(self):
        end = job.ending()
        names = [f"z{end}", f"m/y{end}", f"x{end}", f"a/b/w{end}"]
        [run], _ = job.run_script({name.encode(): job.taken(name) for name in names})
        name = job.JOB["reportName"].encode()
        self.assertEqual(run["target"].get(name), job.filed({name.encode(): job.taken(name) for name in names})[name])

    def test_the_tree_that_was_given(self):
        given = json.loads((pathlib.Path(__file__).parent.parent / "support" / "given.json").read_text(encoding="utf-8"))
        root = artifacts / "app" / job.JOB["target"]
        self.assertTrue(root.is_dir(), "the target folder is missing")
        found = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        wanted = job.filed({name.encode(): text.encode() for name, text in given.items()})
        self.assertEqual(found, {name.decode(): data for name, data in wanted.items()})
`;

const INTEGRATION = `"""Larger trees with plain names, as somebody's real ones are."""

from sandlot_subject import random
from support import job

FOLDERS = ["", "docs/", "img/", "docs/old/", "mail/2021/", "mail/2022/", "x/y/z/"]
ENDINGS = ["txt", "md", "jpg", "csv", "log", "pdf", "json", "conf", "TXT", "Jpg"]


class TestLarge(job.JobTestCase):
    def tree(self, label, count):
        numbers = random(label)
        stems = [f"{word}{number}" for number in range(count // 5 + 1) for word in ("note", "Scan", "bill", "plan", "list")]
        names = {f"{numbers.choice(FOLDERS)}{numbers.choice(stems)}.{numbers.choice(ENDINGS)}" for _ in range(count)}
        return {name.encode(): job.content(label, index) for index, name in enumerate(sorted(names))}

    def test_many_files(self):
        self.assert_files(self.tree("many", 40))

    def test_deep_folders(self):
        end = job.ending()
        self.assert_files({("d/" * depth + f"n{depth}{end}").encode(): job.taken("deep", depth) for depth in range(12)})

    def test_equal_contents(self):
        end = job.ending()
        places = ["b/one", "a/two", "three", "c/d/four", "A/five", "six", "b/seven", "a/b/eight"]
        self.assert_files({f"{place}{end}".encode(): job.taken("equal", at % 3) for at, place in enumerate(places)})
`;

const BOUNDARY = `"""Odd names, hidden files, links, collisions, edges of sizes, a second run, nothing to do."""

from support import job


class TestOdd(job.JobTestCase):
    def assert_named(self, names, data=job.taken):
        end = job.ending().encode()
        self.assert_files({name.replace(b"END", end): data("odd", at) for at, name in enumerate(names)})

    def test_spaces_and_newlines(self):
        self.assert_named([b" leadEND", b"trail END", b"two\\nlinesEND", b"tab\\tEND", b"in\\nfolder/a b.cEND", b"end\\nEND", b"xEND\\n"])

    def test_quotes_globs_and_dashes(self):
        self.assert_named([b"-rfEND", b"--helpEND", b"a*bEND", b"[x]END", b"q'uote\\"END", b"back\\\\slashEND", b"$HOMEEND", b"%sEND", b"\\xc3\\xa9END"])

    def test_dots_in_odd_places(self):
        self.assert_named([b"two.dotsEND", b"dot.", b"a..bEND", b"no_dot", b"folder.d/no_dot_either", b"a.b.", b"x.UNKNOWN"], job.content)

    def test_hidden(self):
        self.assert_named([b".hiddenEND", b".hidden", b".folder/plainEND", b"a/.deep/xEND", b"a/b.cEND", b"openEND", b"a/...END"])

    def test_links(self):
        end = job.ending().encode()
        files = {b"real" + end: job.taken("real"), b"folder/other" + end: job.taken("other")}
        links = [(b"link" + end, b"real" + end), (b"loop", b"."), (b"out" + end, b"/etc/passwd"), (b"dead", b"nowhere"), (b"into", b"folder")]
        self.assert_files(files, links)

    def test_equal_places(self):
        end = job.ending().encode()
        names = [b"%s/n/same%s" % (folder, end) for folder in (b"a", b"b", b"c", b"B")] + [b"q/n/same%s" % end, b"q/m/n/same%s" % end]
        files = {name: job.taken("place", at) + b"." * (3 - abs(at - 3)) for at, name in enumerate(names)}
        files[b"q/n/same" + end + b".2"] = job.taken("suffix")
        files[b"q/n/2-same" + end] = job.taken("prefix")
        self.assert_files(files)

    def test_byte_order(self):
        self.assert_named([b"a/bEND", b"a-bEND", b"a.bEND", b"A/bEND", b"aEND", b"a b/cEND", b"\\xc3\\xa9/bEND", b"Z/bEND", b"a/b/cEND", b"_END"])

    def test_sizes_and_first_lines_at_the_edge(self):
        end, rule, place = job.ending().encode(), job.JOB["select"], job.JOB["place"]
        texts = [b"", b"\\n", b"x", b"no line end"]
        if rule["kind"] == "bytes-min":
            texts += [b"s" * (rule["bytes"] - 1), b"s" * rule["bytes"], b"s" * (rule["bytes"] + 1)]
        if rule["kind"] == "first-line":
            word = rule["word"].encode()
            texts += [word, word.lower(), b"x" + word + b"x\\n", b"\\n" + word, b"one\\n" + word + b"\\n", b" " + word]
        if place["kind"] == "size":
            texts += [b"p" * (edge + by) for edge in (place["small"], place["large"]) for by in (-1, 0, 1)]
        if place["kind"] == "field":
            head = place["field"].encode()
            texts += [head + b": red", head + b": red\\nx", head + b": Red", head + b":red", b" " + head + b": red", head + b": ", head + b": red ", head + b": r2", b"x\\n" + head + b": red"]
        self.assert_files({b"f%02d" % at + end: text for at, text in enumerate(texts)})

    def test_nothing_to_file(self):
        self.assert_files({})

    def test_again(self):
        end = job.ending().encode()
        files = {b"%s/same%s" % (folder, end): job.taken("again", at) for at, folder in enumerate((b"a", b"b", b"c"))}
        runs, _ = job.run_script(files, runs=2)
        self.assertEqual([run["exit"] for run in runs], [0, 0])
        self.assertEqual(runs[1]["target"], job.filed(files))

    def test_missing_source(self):
        [run], _ = job.run_script(None)
        self.assertEqual(run["exit"], job.JOB["exitCode"])
        self.assertGreater(run["said"], 0)
        self.assertFalse(run["there"])
`;
