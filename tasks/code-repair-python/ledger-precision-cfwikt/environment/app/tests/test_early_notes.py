import unittest

from bookkeep.early_notes import early_notes


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(early_notes(""), 14)
