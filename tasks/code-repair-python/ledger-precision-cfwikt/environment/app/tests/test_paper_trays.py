import unittest

from bookkeep.paper_trays import paper_trays


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([paper_trays(-1), paper_trays(1000)], [0, 23])
