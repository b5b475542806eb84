import unittest

from bookkeep.quick_labels import quick_labels


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([quick_labels(-1), quick_labels(1000)], [0, 3])
