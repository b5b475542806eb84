"""Empty, single, tied, out of range, and inputs that must not be changed."""

import unittest

from sandlot_subject import SubjectError, grading_seed, subject

DESCRIBE = "/app/tally/describe.py"
MOVING_AVERAGE = "/app/tally/window.py:moving_average"
SUMMARISE = "/app/tally/report.py:summarise"


class TestEdges(unittest.TestCase):
    def assert_value_error(self, function, args):
        with self.assertRaises(SubjectError) as caught:
            subject.call(function, args)
        self.assertEqual(caught.exception.type_name, "ValueError")

    def test_no_values_are_a_value_error(self):
        for name in ("mean", "median", "spread"):
            self.assert_value_error(f"{DESCRIBE}:{name}", [[]])
        self.assert_value_error(f"{DESCRIBE}:quantile", [[], 0.5])

    def test_a_share_outside_zero_and_one_is_a_value_error(self):
        for share in (-0.01, 1.01):
            self.assert_value_error(f"{DESCRIBE}:quantile", [[1, 2, 3], share])

    def test_the_ends_are_the_least_and_the_greatest(self):
        values = [grading_seed % 97, -5, 400, 12, 12]
        self.assertEqual(subject.call(f"{DESCRIBE}:quantile", [values, 0]), min(values))
        self.assertEqual(subject.call(f"{DESCRIBE}:quantile", [values, 1]), max(values))

    def test_a_single_value_is_every_quantile(self):
        for share in (0, 0.3, 0.5, 1):
            self.assertEqual(subject.call(f"{DESCRIBE}:quantile", [[7], share]), 7)

    def test_a_width_beyond_the_values_averages_what_there_is(self):
        self.assertEqual(subject.call(MOVING_AVERAGE, [[2, 4], 5]), [2, 3])
        self.assertEqual(subject.call(MOVING_AVERAGE, [[], 3]), [])

    def test_a_width_below_one_is_a_value_error(self):
        self.assert_value_error(MOVING_AVERAGE, [[1, 2], 0])

    def test_rows_without_a_value_are_left_out(self):
        rows = [{"g": "a", "v": None}, {"g": "b", "v": 9}, {"g": "b", "v": 0}, {"g": "c"}, {"g": "b", "v": 3}]
        summary = subject.call(SUMMARISE, [rows, "g", "v"])
        self.assertEqual([(entry["key"], entry["count"]) for entry in summary], [("b", 3)])
        self.assertEqual((summary[0]["first"], summary[0]["last"], summary[0]["median"]), (9, 3, 3))
