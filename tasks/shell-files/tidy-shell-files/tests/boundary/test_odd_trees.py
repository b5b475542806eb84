"""Odd names, nothing to sort, links, collisions, a second run, a missing source."""

import random
import unittest

from sandlot_subject import grading_seed
from support import tidy


def content(label):
    return random.Random(f"{grading_seed}:{label}").randbytes(12).hex().encode()


class TestOddTrees(unittest.TestCase):
    def assert_sorts(self, files, links=()):
        [run], _ = tidy.run_script(files, links)
        self.assertEqual(run["exit"], 0)
        self.assertEqual(run["target"], tidy.sorted_tree(files))

    def test_names_with_spaces_and_newlines(self):
        names = [b" lead.txt", b"trail .txt", b"two\nlines.txt", b"tab\tname", b"in\nfolder/a b.c d", b"end\n", b"x.t\nt"]
        self.assert_sorts({name: content(name) for name in names})

    def test_names_with_quotes_globs_and_dashes(self):
        names = [b"-rf", b"--help.txt", b"a*b.txt", b"[x].md", b"q'uote\".txt", b"back\\slash.n", b"$HOME.sh", b"%s.d", b"\xc3\xa9t\xc3\xa9.TXT"]
        self.assert_sorts({name: content(name) for name in names})

    def test_dots_in_odd_places(self):
        names = [b".hidden", b".hidden.conf", b"dot.", b"...", b"a..b", b"no_dot", b"folder.d/no_dot_either", b"UP.CASE"]
        self.assert_sorts({name: content(name) for name in names})

    def test_an_empty_source_leaves_an_empty_inventory(self):
        self.assert_sorts({})

    def test_links_are_ignored(self):
        files = {b"real.txt": content("real"), b"folder/other.txt": content("other")}
        links = [(b"link.txt", b"real.txt"), (b"loop", b"."), (b"out.txt", b"/etc/passwd"), (b"dead", b"nowhere")]
        self.assert_sorts(files, links)

    def test_the_first_of_equal_files_is_kept_in_byte_order(self):
        same = content("same")
        self.assert_sorts({b"b/1.txt": same, b"B/2.txt": same, b"a.txt": same, b"a/0.txt": same, b"Z.md": content("Z")})

    def test_equal_names_get_numbers(self):
        files = {b"%s/same.txt" % folder: content(folder) for folder in (b"a", b"b", b"c", b"B")}
        files[b"a/same.txt.2"] = content("taken")
        files[b"d/SAME.TXT"] = content("upper")
        self.assert_sorts(files)

    def test_a_second_run_changes_nothing(self):
        files = {b"a/same.txt": content("one"), b"b/same.txt": content("two"), b"c": content("three")}
        runs, _ = tidy.run_script(files, runs=2)
        self.assertEqual([run["exit"] for run in runs], [0, 0])
        self.assertEqual(runs[1]["target"], tidy.sorted_tree(files))

    def test_a_missing_source_is_an_error(self):
        [run], _ = tidy.run_script(None)
        self.assertEqual(run["exit"], 2)
        self.assertGreater(run["stderr"], 0)
        self.assertFalse(run["there"])
