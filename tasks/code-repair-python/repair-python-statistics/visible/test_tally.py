"""What the package's users have seen go wrong, and what they have seen work."""

import sys
import unittest

sys.path.insert(0, "/app")

from tally.describe import mean, median  # noqa: E402
from tally.window import moving_average  # noqa: E402


class TestTally(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 3, 6]), 3)

    def test_median_of_an_even_number_of_values(self):
        self.assertEqual(median([4, 1, 3, 2]), 2.5)

    def test_moving_average(self):
        self.assertEqual(moving_average([2, 4, 6, 8], 2), [2, 3, 5, 7])


if __name__ == "__main__":
    unittest.main()
