import unittest

from ledger.paper_tables import paper_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(paper_tables([1, 2, 3], 2), [[1, 2], [3]])
