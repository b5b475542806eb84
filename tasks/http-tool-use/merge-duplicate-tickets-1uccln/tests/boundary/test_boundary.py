"""Later pages, edges of rules, records that changed meanwhile, and answers that were lost."""
import unittest

from support import state


class TestBoundary(unittest.TestCase):
    def test_later_pages(self):
        self.assertEqual(state.missing("later_pages"), [])

    def test_edges(self):
        self.assertEqual(state.missing("edges"), [])

    def test_edited(self):
        self.assertEqual(state.missing("edited"), [])

    def test_lost_answers(self):
        self.assertEqual(state.missing("lost_answers", times=1), [])

    def test_nothing_is_done_twice(self):
        done = state.times_done()
        self.assertGreater(sum(done), 0, "nothing that was wanted has been made")
        self.assertLessEqual(max(done), 1)
