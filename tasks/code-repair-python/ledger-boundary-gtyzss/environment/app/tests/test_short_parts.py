import unittest

from ledger.short_parts import short_parts


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([short_parts(-1), short_parts(1000)], [0, 24])
