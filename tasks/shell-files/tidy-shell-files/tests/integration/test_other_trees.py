"""The script on trees drawn from the grading seed."""

import random
import unittest

from sandlot_subject import grading_seed
from support import tidy


def drawn_tree(label, count):
    draw = random.Random(f"{grading_seed}:{label}")
    names = ["notes", "Plan", "photo", "song", "data", "x"]
    endings = [".txt", ".TXT", ".csv", ".tar.gz", "", ".Jpg", ".md"]
    folders = ["", "a/", "b/", "a/b/", "Z/", "z/y/x/"]
    contents = [draw.randbytes(draw.randint(0, 60)) for _ in range(count * 2 // 3)]
    files = {}
    for _ in range(count):
        path = f"{draw.choice(folders)}{draw.choice(names)}{draw.randint(1, 40)}{draw.choice(endings)}"
        files[path.encode()] = draw.choice(contents)
    return files


class TestOtherTrees(unittest.TestCase):
    def test_a_small_tree(self):
        files = drawn_tree("small", 20)
        [run], _ = tidy.run_script(files)
        self.assertEqual(run["exit"], 0)
        self.assertEqual(run["target"], tidy.sorted_tree(files))

    def test_a_large_tree(self):
        files = drawn_tree("large", 180)
        [run], _ = tidy.run_script(files)
        self.assertEqual(run["exit"], 0)
        self.assertEqual(run["target"], tidy.sorted_tree(files))

    def test_the_source_stays_as_it_was(self):
        files = drawn_tree("untouched", 15)
        [run], source = tidy.run_script(files)
        self.assertEqual(source, files)
        self.assertIn(b"inventory", run["target"])
