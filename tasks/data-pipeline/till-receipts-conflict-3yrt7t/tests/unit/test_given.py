"""The days that were given."""

from support import drive, reference

AREAS = reference.S["given_reference"]


class TestGiven(drive.PipelineCase):
    def test_records(self):
        self.assert_left([drive.given()], AREAS, "records")

    def test_daily(self):
        self.assert_left([drive.given()], AREAS, "daily")

    def test_database_left(self):
        self.assert_left([], AREAS, "records", "daily", "rejects", database="/app/warehouse.db")
