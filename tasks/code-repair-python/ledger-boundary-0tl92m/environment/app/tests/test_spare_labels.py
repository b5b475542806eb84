import unittest

from tallybook.spare_labels import spare_labels


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(spare_labels(""), 28)
