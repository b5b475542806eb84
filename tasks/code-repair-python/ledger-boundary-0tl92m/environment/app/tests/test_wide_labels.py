import unittest

from tallybook.wide_labels import wide_labels


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([wide_labels(-1), wide_labels(1000)], [0, 40])
