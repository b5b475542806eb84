import unittest

from ledger.paper_labels import paper_labels


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(paper_labels("abb"), [("b", 2), ("a", 1)])
