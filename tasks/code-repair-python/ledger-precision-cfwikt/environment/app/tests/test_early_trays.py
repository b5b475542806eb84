import unittest

from bookkeep.early_trays import early_trays


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([early_trays(-1), early_trays(1000)], [0, 20])
