"""The query on the data the agent could see, at other prices, so that a written-down answer earns nothing."""

import random
import unittest

from sandlot_subject import grading_seed
from support import shop

PRICES = random.Random(f"{grading_seed}:prices")

DATA = {
    "customers": [
        (1, "Ada", "Chile"),
        (2, "Bo", "Norway"),
        (3, "Cleo", "Chile"),
        (4, "Dag", "Norway"),
        (5, "Eve", "Kenya"),
        (6, "Finn", "Norway"),
    ],
    "products": [
        (number, name, 1000 + PRICES.randrange(20_000))
        for number, name in enumerate(["lamp", "desk", "chair", "rug"], start=1)
    ],
    "orders": [
        (1, 1, "2024-02-03", "paid"),
        (2, 1, "2024-05-21", "paid"),
        (3, 2, "2024-03-11", "paid"),
        (4, 3, "2023-12-30", "paid"),
        (5, 3, "2024-07-01", "cancelled"),
        (6, 3, "2024-07-02", "paid"),
        (7, 4, "2024-09-09", "paid"),
        (8, 5, "2024-10-10", "open"),
        (9, 6, "2025-01-02", "paid"),
        (10, 2, "2024-11-30", "paid"),
    ],
    "order_items": [
        (1, 1, 2, 0),
        (1, 3, 1, 500),
        (2, 2, 1, 0),
        (3, 2, 1, 900),
        (3, 1, 4, 0),
        (4, 4, 9, 0),
        (5, 2, 3, 0),
        (6, 4, 1, 1000),
        (7, 3, 2, 0),
        (8, 2, 5, 0),
        (9, 4, 5, 0),
        (10, 1, 1, 250),
    ],
}


class TestVisibleData(unittest.TestCase):
    def assert_column(self, number):
        _, rows = shop.run_query(DATA)
        expected = {row[0]: row[number] for row in shop.true_answer(DATA)}
        self.assertEqual({row[0]: row[number] for row in rows}, expected)

    def test_the_columns_are_those_asked_for(self):
        columns, rows = shop.run_query(DATA)
        self.assertEqual(columns, shop.COLUMNS)
        self.assertEqual(len(rows), 2)

    def test_revenues(self):
        self.assert_column(1)

    def test_order_counts(self):
        self.assert_column(2)

    def test_best_customers(self):
        self.assert_column(3)
