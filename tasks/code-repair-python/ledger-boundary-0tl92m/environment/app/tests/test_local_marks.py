import unittest

from tallybook.local_marks import local_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([local_marks(-1), local_marks(1000)], [0, 19])
