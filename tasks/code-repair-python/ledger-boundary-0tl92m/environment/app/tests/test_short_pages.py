import unittest

from tallybook.short_pages import short_pages


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(short_pages("abb"), [("b", 2), ("a", 1)])
