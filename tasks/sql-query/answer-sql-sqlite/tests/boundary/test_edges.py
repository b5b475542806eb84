"""NULLs, ties, empty tables, the first and the last day, equal names, orders without items."""

import random
import unittest

from sandlot_subject import grading_seed
from support import shop

PRODUCTS = [(1, "thing", 100)]


class TestEdges(unittest.TestCase):
    def assert_rows(self, data, expected):
        _, rows = shop.run_query(data)
        self.assertEqual([tuple(row) for row in rows], expected)

    def test_no_rows_at_all(self):
        self.assert_rows({"customers": [], "products": [], "orders": [], "order_items": []}, [])

    def test_an_order_without_items_does_not_count(self):
        data = {
            "customers": [(1, "Ada", "Chile"), (2, "Bo", "Peru")],
            "products": PRODUCTS,
            "orders": [(1, 1, "2024-03-03", "paid"), (2, 1, "2024-03-04", "paid"), (3, 2, "2024-03-04", "paid")],
            "order_items": [(1, 1, 2, 0)],
        }
        self.assert_rows(data, [("Chile", 200, 1, "Ada")])

    def test_no_country_counts_as_unknown(self):
        data = {
            "customers": [(1, "Ada", None), (2, "Bo", None), (3, "Cleo", "Chile")],
            "products": PRODUCTS,
            "orders": [(1, 1, "2024-03-03", "paid"), (2, 2, "2024-03-04", "paid"), (3, 3, "2024-03-04", "paid")],
            "order_items": [(1, 1, 1, 0), (2, 1, 3, 0), (3, 1, 2, 0)],
        }
        self.assert_rows(data, [("unknown", 400, 2, "Bo"), ("Chile", 200, 1, "Cleo")])

    def test_no_discount_is_written_as_null(self):
        data = {
            "customers": [(1, "Ada", "Chile")],
            "products": PRODUCTS,
            "orders": [(1, 1, "2024-03-03", "paid")],
            "order_items": [(1, 1, 2, None), (1, 1, 1, 30)],
        }
        self.assert_rows(data, [("Chile", 270, 1, "Ada")])

    def test_nulls_everywhere_the_schema_allows_them(self):
        data = shop.generated(random.Random(f"{grading_seed}:nulls"), nulls=True)
        self.assert_rows(data, shop.true_answer(data))

    def test_the_lowest_id_wins_a_tie(self):
        data = {
            "customers": [(9, "Ada", "Chile"), (4, "Zoe", "Chile"), (7, "Moe", "Chile")],
            "products": PRODUCTS,
            "orders": [(1, 9, "2024-03-03", "paid"), (2, 7, "2024-03-03", "paid"), (3, 4, "2024-03-03", "paid")],
            "order_items": [(1, 1, 2, 0), (2, 1, 1, 0), (3, 1, 2, 0)],
        }
        self.assert_rows(data, [("Chile", 500, 3, "Zoe")])

    def test_equal_names_are_two_customers(self):
        data = {
            "customers": [(1, "Ada", "Chile"), (2, "Bo", "Chile"), (3, "Ada", "Chile")],
            "products": PRODUCTS,
            "orders": [(1, 1, "2024-03-03", "paid"), (2, 2, "2024-03-03", "paid"), (3, 3, "2024-03-03", "paid")],
            "order_items": [(1, 1, 2, 0), (2, 1, 3, 0), (3, 1, 2, 0)],
        }
        self.assert_rows(data, [("Chile", 700, 3, "Bo")])

    def test_countries_of_equal_revenue_stand_by_name(self):
        data = {
            "customers": [(1, "Ada", "Peru"), (2, "Bo", "Chile")],
            "products": PRODUCTS,
            "orders": [(1, 1, "2024-03-03", "paid"), (2, 2, "2024-03-03", "paid")],
            "order_items": [(1, 1, 2, 0), (2, 1, 2, 0)],
        }
        self.assert_rows(data, [("Chile", 200, 1, "Bo"), ("Peru", 200, 1, "Ada")])

    def test_the_first_and_the_last_day_of_the_year_count(self):
        days = ["2023-12-31", "2024-01-01", "2024-12-31", "2025-01-01"]
        data = {
            "customers": [(1, "Ada", "Chile")],
            "products": PRODUCTS,
            "orders": [(number, 1, day, "paid") for number, day in enumerate(days)],
            "order_items": [(number, 1, 10**number, 0) for number in range(4)],
        }
        self.assert_rows(data, [("Chile", 11_000, 2, "Ada")])
