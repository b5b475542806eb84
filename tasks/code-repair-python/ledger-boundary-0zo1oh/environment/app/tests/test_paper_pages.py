import unittest

from ledger.paper_pages import paper_pages


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(paper_pages("x" * 99)), 5)
