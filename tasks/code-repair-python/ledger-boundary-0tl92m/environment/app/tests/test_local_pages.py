import unittest

from tallybook.local_pages import local_pages


class TestIt(unittest.TestCase):
    def test_it(self):
        kept = local_pages(2)
        for value in (1, 2, 3):
            kept.add(value)
        self.assertEqual(kept.latest(), [3, 2])
