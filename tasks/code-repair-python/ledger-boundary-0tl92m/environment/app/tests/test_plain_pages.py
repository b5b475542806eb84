import unittest

from tallybook.plain_pages import plain_pages


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(plain_pages([1, 2, 3], 2), [[1, 2], [3]])
