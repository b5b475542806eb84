"""What was reported, as tests."""
import sys
import unittest

sys.path.insert(0, "/app")


class TestLastDay(unittest.TestCase):
    def test_the_last_day_counts(self):
        from ledger.book import Journal
        from ledger.report import statement
        book = Journal(["bank", "food"])
        book.post("2024-05-31", "dinner", [("bank", -1000), ("food", 1000)])
        self.assertEqual(statement(book, "bank", "2024-05-01", "2024-05-31")["closing"], "-10.00")


class TestNegativeFractions(unittest.TestCase):
    def test_text_amounts_add_up(self):
        from ledger.book import Journal
        book = Journal(["bank", "fees"])
        book.post("2024-03-01", "fee", [("bank", "-1.20"), ("fees", "1.20")])
        self.assertEqual(book.balance("bank"), -120)


class TestSharedCents(unittest.TestCase):
    def test_a_large_cost_is_shared(self):
        from ledger.book import Journal
        from ledger.report import Qshare_cost
        book = Journal(["bank", "ann", "bob"])
        Qshare_cost(book, "2024-01-05", "ship", ("bank", 90071992547409931), {"Ann": (1, "ann"), "Bob": (2, "bob")})
        self.assertEqual((book.balance("ann"), book.balance("bob")), (30023997515803310, 60047995031606621))


if __name__ == "__main__":
    unittest.main()
