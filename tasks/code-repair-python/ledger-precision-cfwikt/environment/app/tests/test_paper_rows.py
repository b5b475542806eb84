import unittest

from bookkeep.paper_rows import paper_rows


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([paper_rows(-1), paper_rows(1000)], [0, 7])
