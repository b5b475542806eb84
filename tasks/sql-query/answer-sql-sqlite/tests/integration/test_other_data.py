"""The query on data sets drawn from the grading seed, which the agent has not seen."""

import random
import unittest

from sandlot_subject import grading_seed
from support import shop


class TestOtherData(unittest.TestCase):
    def assert_answers(self, data):
        columns, rows = shop.run_query(data)
        self.assertEqual(columns, shop.COLUMNS)
        self.assertEqual([tuple(row) for row in rows], shop.true_answer(data))
        self.assertTrue(all(type(row[1]) is int and type(row[2]) is int for row in rows))

    def test_a_small_shop(self):
        self.assert_answers(shop.generated(random.Random(f"{grading_seed}:small")))

    def test_a_busy_shop(self):
        self.assert_answers(shop.generated(random.Random(f"{grading_seed}:busy"), customers=40, orders=400, items=1500))

    def test_a_large_shop(self):
        data = shop.generated(random.Random(f"{grading_seed}:large"), customers=300, orders=12_000, items=50_000)
        self.assert_answers(data)
