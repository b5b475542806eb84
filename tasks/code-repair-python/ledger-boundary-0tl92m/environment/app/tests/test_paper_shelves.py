import unittest

from tallybook.paper_shelves import paper_shelves


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(paper_shelves("abb"), [("b", 2), ("a", 1)])
