import unittest

from tallybook.short_lanes import short_lanes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([short_lanes(-1), short_lanes(1000)], [0, 38])
