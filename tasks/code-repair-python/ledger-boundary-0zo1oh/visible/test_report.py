"""What was reported, as tests."""
import sys
import unittest

sys.path.insert(0, "/app")


class TestLastDay(unittest.TestCase):
    def test_the_last_day_counts(self):
        from ledger.book import Journal
        from ledger.report import statement
        book = Journal(["bank", "food"])
        book.record("2024-05-31", "dinner", [("bank", -1000), ("food", 1000)])
        self.assertEqual(statement(book, "bank", "2024-05-01", "2024-05-31")["closing"], "-10.00")


class TestNegativeFractions(unittest.TestCase):
    def test_text_amounts_add_up(self):
        from ledger.book import Journal
        book = Journal(["bank", "fees"])
        book.record("2024-03-01", "fee", [("bank", "-1.20"), ("fees", "1.20")])
        self.assertEqual(book.balance("bank"), -120)


if __name__ == "__main__":
    unittest.main()
