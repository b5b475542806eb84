"""Databases that nobody has seen."""

from sandlot_subject import random
from support import drive, reference


class TestOtherData(drive.QueryCase):
    def test_other_rows(self):
        r = random("other rows")
        self.assert_rows([reference.draw(r, 8) for _ in range(12)])

    def test_larger_tables(self):
        r = random("larger tables")
        self.assert_rows([reference.draw(r, 60, days=40, values=500) for _ in range(2)])
