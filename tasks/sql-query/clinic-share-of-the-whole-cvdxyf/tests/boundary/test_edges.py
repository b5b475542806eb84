"""One matter at a time, in many small databases."""

from sandlot_subject import random
from support import drive, reference


class TestEdges(drive.QueryCase):
    def test_empty_tables(self):
        empty = {name: [] for name in reference.FIELDS}
        r = random("empty tables")
        some = [reference.draw(r, 3) for _ in range(6)]
        without_lines = [{**data, "lines": []} for data in some]
        without_events = [{**data, "events": [], "lines": []} for data in some]
        without_dates = [{**data, "events": [[*row[:2], None, row[3]] for row in data["events"]]} for data in some]
        self.assert_rows([empty, *without_lines, *without_events, *without_dates])

    def test_ties(self):
        r = random("ties")
        self.assert_rows([reference.draw(r, r.randrange(2, 5), nulls=0.02, days=5, values=3) for _ in range(120)])

    def test_missing_values(self):
        r = random("missing values")
        self.assert_rows([reference.draw(r, r.randrange(2, 5), nulls=0.4, days=5) for _ in range(120)])

    def test_rows_that_stand_alone(self):
        r = random("rows that stand alone")
        self.assert_rows([reference.draw(r, r.randrange(2, 6), spread=0.5) for _ in range(120)])
