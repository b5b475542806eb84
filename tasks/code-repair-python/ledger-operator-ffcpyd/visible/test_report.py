"""What was reported, as tests."""
import sys
import unittest

sys.path.insert(0, "/app")


class TestNegativeFractions(unittest.TestCase):
    def test_text_amounts_add_up(self):
        from ledger.book import Ledger
        book = Ledger(["bank", "fees"])
        book.record("2024-03-01", "fee", [("bank", "-1.20"), ("fees", "1.20")])
        self.assertEqual(book.balance("bank"), -120)


class TestSharedCents(unittest.TestCase):
    def test_a_large_cost_is_shared(self):
        from ledger.book import Ledger
        from ledger.report import Qshare_cost
        book = Ledger(["bank", "ann", "bob"])
        Qshare_cost(book, "2024-01-05", "ship", ("bank", 90071992547409931), {"Ann": (1, "ann"), "Bob": (2, "bob")})
        self.assertEqual((book.balance("ann"), book.balance("bob")), (30023997515803310, 60047995031606621))


if __name__ == "__main__":
    unittest.main()
