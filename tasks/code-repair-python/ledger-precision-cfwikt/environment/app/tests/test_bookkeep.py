import unittest


class TestPackage(unittest.TestCase):
    def test_balances(self):
        from bookkeep.book import Ledger
        book = Ledger(["bank", "food"])
        book.post("2024-01-02", "market", [("bank", -250), ("food", 250)])
        self.assertEqual(book.balance("food"), 250)

    def test_text_amounts(self):
        from bookkeep.money import parse, show
        self.assertEqual(parse("12.5"), 1250)
        self.assertEqual(show(1205), "12.05")
