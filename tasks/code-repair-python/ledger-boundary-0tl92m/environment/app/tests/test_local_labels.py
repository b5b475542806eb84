import unittest

from tallybook.local_labels import local_labels


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(len(local_labels("x" * 99)), 14)
