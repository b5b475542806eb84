import unittest

from tallybook.quick_codes import quick_codes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([quick_codes(-1), quick_codes(1000)], [0, 19])
