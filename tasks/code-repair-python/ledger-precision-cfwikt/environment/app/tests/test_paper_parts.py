import unittest

from bookkeep.paper_parts import paper_parts


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(paper_parts("x" * 99)), 34)
