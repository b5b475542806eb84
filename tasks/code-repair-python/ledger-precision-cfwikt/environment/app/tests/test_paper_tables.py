import unittest

from bookkeep.paper_tables import paper_tables


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(paper_tables(""), 29)
