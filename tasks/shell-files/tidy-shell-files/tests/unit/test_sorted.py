"""The folder the agent left: /app/sorted, and the inbox as it was."""

import os
import unittest

from sandlot_subject import artifacts
from support import tidy

INBOX = {
    b"a report.txt": b"alpha\n",
    b"deep/copy.txt": b"alpha\n",
    b"deep/a report.txt": b"beta\n",
    b"deep/er/photo.JPG": b"gamma",
    b"mail/-n.jpg": b"gamma\n",
    b"mail/two\nlines.txt": b"delta\n",
    b"mail/star*.Txt": b"epsilon\n",
    b".profile": b"zeta\n",
    b"README": b"eta\n",
    b"empty.log": b"",
    b"mail/empty.log": b"",
    b"deep/archive.tar.gz": b"theta\n",
}


def tree(path):
    root = os.fsencode(str(artifacts / path))
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = file.read()
    return found


class TestSorted(unittest.TestCase):
    def setUp(self):
        self.left = tree("app/sorted")
        self.wanted = tidy.sorted_tree(INBOX)

    def test_each_file_lies_under_its_extension(self):
        names = {path for path in self.left if path != b"inventory"}
        self.assertEqual(names, {path for path in self.wanted if path != b"inventory"})

    def test_each_file_has_its_content(self):
        self.assertTrue(self.left, "/app/sorted is empty")
        for path, data in self.wanted.items():
            if path != b"inventory":
                self.assertEqual(self.left.get(path), data, path)

    def test_the_inventory_names_them_in_order(self):
        self.assertEqual(self.left.get(b"inventory"), self.wanted[b"inventory"])

    def test_the_inbox_is_as_it_was(self):
        self.assertTrue((artifacts / "app" / "sorted" / "inventory").is_file(), "/app/sorted/inventory was not made")
        self.assertEqual(tree("app/inbox"), INBOX)
