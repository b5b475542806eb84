"""Days that nobody has seen, with all that can be wrong with them."""

from sandlot_subject import random
from support import drive, reference


def folder_of(r):
    folder = reference.plain_days(r, 5, 12)
    names = reference.days(r, 1) + sorted(name.split(".")[0] for name in folder.files())
    for day in names[1:]:
        fields = folder.fields(day)
        folder.put(day, fields)
        folder.put(day, [*fields[:4], str(int(fields[4]) + r.randrange(-1, 2)), r.choice(["again", fields[5]])])
        folder.add(day, group=reference.S["groups"][-1])
        folder.raw(day, r.choice([b"?", b"\xff\xfe", b"[]"]))
    return folder.files()


class TestOtherDays(drive.PipelineCase):
    def assert_days(self, name):
        r = random(f"days {name}")
        areas = reference.draw_areas(r)
        for _ in range(2):
            self.assert_left([folder_of(r)], areas, name)

    def test_records(self):
        self.assert_days("records")

    def test_daily(self):
        self.assert_days("daily")

    def test_rejects(self):
        self.assert_days("rejects")
