"""Each of these fails on the package as it is shipped."""

import random
import unittest

from sandlot_subject import grading_seed, subject

QUANTILE = "/app/tally/describe.py:quantile"
MEDIAN = "/app/tally/describe.py:median"
MOVING_AVERAGE = "/app/tally/window.py:moving_average"


def rank_quantile(values, share):
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def numbers(label, count):
    draw = random.Random(f"{grading_seed}:{label}")
    return draw.sample(range(-1000, 1000), count)


class TestQuantile(unittest.TestCase):
    def test_median_of_an_even_number_of_values(self):
        for count in (2, 4, 10):
            values = numbers(f"even {count}", count)
            self.assertAlmostEqual(subject.call(MEDIAN, [values]), rank_quantile(values, 0.5), places=9)

    def test_median_of_an_odd_number_of_values(self):
        for count in (3, 5, 11):
            values = numbers(f"odd {count}", count)
            self.assertAlmostEqual(subject.call(MEDIAN, [values]), rank_quantile(values, 0.5), places=9)

    def test_quarters_are_interpolated_between_ranks(self):
        values = numbers("quarters", 9) + numbers("more", 3)
        for share in (0.1, 0.25, 0.75, 0.9):
            self.assertAlmostEqual(subject.call(QUANTILE, [values, share]), rank_quantile(values, share), places=9)


class TestMovingAverage(unittest.TestCase):
    def test_old_values_leave_the_window(self):
        values = numbers("window", 12)
        for width in (1, 2, 3, 5):
            expected = [
                sum(values[max(0, end - width + 1) : end + 1]) / min(end + 1, width) for end in range(len(values))
            ]
            averages = subject.call(MOVING_AVERAGE, [values, width])
            self.assertEqual(len(averages), len(expected))
            for average, wanted in zip(averages, expected):
                self.assertAlmostEqual(average, wanted, places=9)
