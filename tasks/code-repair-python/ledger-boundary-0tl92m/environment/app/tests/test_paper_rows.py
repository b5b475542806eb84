import unittest

from tallybook.paper_rows import paper_rows


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(paper_rows("x" * 99)), 3)
