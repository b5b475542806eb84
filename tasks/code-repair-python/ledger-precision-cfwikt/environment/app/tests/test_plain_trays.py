import unittest

from bookkeep.plain_trays import plain_trays


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(plain_trays("abb"), [("b", 2), ("a", 1)])
