"""The database that was given."""

from support import drive, reference


class TestGiven(drive.QueryCase):
    def test_rows(self):
        self.assert_rows([reference.S["given"]])

    def test_columns(self):
        said = drive.asked_of([reference.S["given"]])
        self.assertEqual(said[0]["columns"], reference.S["columns"])
