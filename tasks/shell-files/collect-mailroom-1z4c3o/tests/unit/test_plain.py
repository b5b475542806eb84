"""Small trees with plain names, and the tree that was given."""

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
