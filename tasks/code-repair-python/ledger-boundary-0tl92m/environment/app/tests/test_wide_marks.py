import unittest

from tallybook.wide_marks import wide_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([wide_marks(-1), wide_marks(1000)], [0, 3])
