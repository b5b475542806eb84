import unittest

from bookkeep.quick_parts import quick_parts


class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(quick_parts("abb"), [("b", 2), ("a", 1)])
