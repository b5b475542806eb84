import unittest

from ledger.local_pages import local_pages


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual([local_pages(-1), local_pages(1000)], [0, 28])
