import unittest

from bookkeep.local_marks import local_marks


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(local_marks("x" * 99)), 39)
