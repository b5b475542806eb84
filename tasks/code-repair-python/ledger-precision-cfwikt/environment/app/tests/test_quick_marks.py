import unittest

from bookkeep.quick_marks import quick_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([quick_marks(-1), quick_marks(1000)], [0, 13])
