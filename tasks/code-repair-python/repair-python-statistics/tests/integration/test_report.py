"""The report, which rests on all the rest, and the functions that worked and must go on working."""

import random
import statistics
import unittest

from sandlot_subject import grading_seed, subject

SUMMARISE = "/app/tally/report.py:summarise"


def draw(label):
    return random.Random(f"{grading_seed}:{label}")


def rank_quantile(values, share):
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


class TestReport(unittest.TestCase):
    def setUp(self):
        source = draw("rows")
        names = source.sample(["pear", "fig", "apple", "plum", "quince"], 4)
        self.rows = [{"fruit": source.choice(names), "weight": source.randint(1, 500)} for _ in range(40)]
        self.rows[0]["weight"] = 501
        self.groups = {}
        for row in self.rows:
            self.groups.setdefault(row["fruit"], []).append(row["weight"])
        self.summary = subject.call(SUMMARISE, [self.rows, "fruit", "weight"])

    def test_groups_stand_in_order_of_appearance(self):
        self.assertEqual([entry["key"] for entry in self.summary], list(self.groups))

    def test_counts_and_means(self):
        for entry in self.summary:
            self.assertEqual(entry["count"], len(self.groups[entry["key"]]))
            self.assertAlmostEqual(entry["mean"], statistics.fmean(self.groups[entry["key"]]), places=9)

    def test_medians_and_ninetieth_percentiles(self):
        for entry in self.summary:
            self.assertAlmostEqual(entry["median"], rank_quantile(self.groups[entry["key"]], 0.5), places=9)
            self.assertAlmostEqual(entry["p90"], rank_quantile(self.groups[entry["key"]], 0.9), places=9)

    def test_first_and_last_are_those_of_the_rows(self):
        for entry in self.summary:
            self.assertEqual(entry["first"], self.groups[entry["key"]][0])
            self.assertEqual(entry["last"], self.groups[entry["key"]][-1])


class TestUnharmed(unittest.TestCase):
    def test_mean_and_spread(self):
        values = [draw("spread").randint(-50, 50) for _ in range(20)]
        self.assertAlmostEqual(subject.call("/app/tally/describe.py:mean", [values]), statistics.fmean(values), places=9)
        self.assertAlmostEqual(subject.call("/app/tally/describe.py:spread", [values]), statistics.pstdev(values), places=9)
