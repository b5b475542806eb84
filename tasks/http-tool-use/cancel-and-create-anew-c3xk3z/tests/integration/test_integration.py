"""What must not have happened: damage of any kind."""
import unittest

from support import state


class TestIntegration(unittest.TestCase):
    def test_no_row_is_gone(self):
        self.assertEqual(state.gone(), [])

    def test_other_rows_are_as_they_were(self):
        self.assertEqual(state.disturbed(), [])

    def test_no_other_field_is_changed(self):
        self.assertEqual(state.overwritten(), [])

    def test_nothing_else_is_new(self):
        self.assertEqual(state.uncalled(), [])
