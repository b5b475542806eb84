"""One matter at a time, at its edges."""

from sandlot_subject import random
from support import drive, reference

S = reference.S
ALL = ("records", "daily", "rejects")


class TestEdges(drive.PipelineCase):
    def folder(self, name):
        r = random(name)
        return r, reference.Folder(r), reference.days(r, 4), reference.draw_areas(r)

    def test_bad_lines(self):
        r, folder, days, areas = self.folder("bad lines")
        for day in days:
            folder.add(day)
            folder.raw(day, b"")
            for raw in (b"\xc3\x28" * r.randrange(1, 4), b"nothing", b"{", b'{"note": "x"}', b"7", S["delimiter"].encode() * 5):
                folder.raw(day, raw)
            folder.put(day, ["", *folder.fields(day)[1:]])
            folder.put(day, [*folder.fields(day)[:4], r.choice(["", "-1", "1.0", "1234567890"]), "x"])
            folder.put(day, [*folder.fields(day)[:2], "yesterday", "much", "1", "x"])
            folder.add(day)
        self.assert_left([folder.files()], areas, *ALL)

    def test_amounts(self):
        r, folder, days, areas = self.folder("amounts")
        for hundredths in (29, 115, 435, 1999, 0, -1, -105, 57, 10**13 + 7, r.randrange(10**6)):
            folder.add(days[0], hundredths=hundredths)
        mark = "," if S["amount"] == "comma" else "."
        unit = f" {S['unit']}" if S["amount"] == "unit" else ""
        for text in ("", "1" + mark, mark + "5", "1" + mark + "234", "1e3", " 1", "1 ", "+1", "--1", "1;5", "\u0663", "nan"):
            folder.add(days[0], amount=text + unit)
        for text in ("1", "1.5 " + S["part"], "1  " + S["unit"], S["unit"]) if unit else ("1 x", "1" + mark + "2" + mark + "3"):
            folder.add(days[0], amount=text)
        self.assert_left([folder.files()], areas, *ALL)

    def test_times_and_days(self):
        r, folder, days, areas = self.folder("times")
        start = int((reference.datetime.strptime(days[1], "%Y-%m-%d").replace(tzinfo=reference.timezone.utc) - reference.EPOCH).total_seconds())
        for minutes in (0, 1, 59, 24 * 60 - 1, -1, 24 * 60, r.randrange(60, 180), r.randrange(21 * 60, 23 * 60)):
            for _ in range(3):
                folder.add(days[1], seconds=start + minutes * 60)
        for step in range(-5, 6):
            folder.add(days[1], seconds=start + step * 86_400)
            folder.add(days[1], seconds=start + step * 86_400 + 86_340)
        for text in ("", "2024-02-30T10:00:00Z", "30.02.2024 10:00", "2024-03-05 10:00:00Z", "1.3.2024 10:00", "-5", "12345678901", "1.5"):
            folder.add(days[1], when=text)
        self.assert_left([folder.files()], areas, *ALL)

    def test_equal_keys(self):
        r, folder, days, areas = self.folder("equal keys")
        for place, revisions in enumerate(((3, 3), (2, 5, 4), (10, 9), (1, 1, 1))):
            for order, revision in enumerate(revisions):
                day = days[order % len(days)]
                folder.add(day, key=f"K-{place}", revision=revision, hundredths=100 * place + order)
        fields = folder.fields(days[0], key="K-same")
        folder.put(days[0], fields)
        folder.put(days[0], fields)
        fields = folder.fields(days[1], key="K-note", note="one")
        folder.put(days[1], fields)
        folder.put(days[1], [*fields[:5], "two"])
        folder.add(days[2], key="K-bad", revision=9, amount="?")
        folder.add(days[3], key="K-bad", revision=1)
        self.assert_left([folder.files()], areas, *ALL)

    def test_unknown_groups(self):
        r, folder, days, areas = self.folder("unknown groups")
        for day in days:
            for group in (S["groups"][-1], "", S["groups"][0].upper(), f" {S['groups'][0]}", S["groups"][0]):
                folder.add(day, group=group)
        self.assert_left([folder.files()], areas, *ALL)

    def test_summary_of_few(self):
        r, folder, days, areas = self.folder("few")
        group = S["groups"][0]
        for size, day in enumerate(days, 1):
            low = r.randrange(-9_000, -5_000)
            start = folder.fields(day)[2]
            for step in r.sample(range(size), size):
                folder.add(day, group=group, hundredths=low + 700 * step, when=start)
        self.assert_left([folder.files()], areas, "daily")

    def test_second_run(self):
        r = random("second run")
        areas = reference.draw_areas(r)
        first = reference.plain_days(r, 3, 6)
        before = first.files()
        day = sorted(before)[0].split(".")[0]
        first.add(day)
        first.raw(day, b"nothing")
        after = {**first.files(), "readme.txt": b"not data\n"}
        after.pop(sorted(before)[-1])
        self.assert_left([before, before], areas, *ALL)
        self.assert_left([before, after], areas, *ALL)

    def test_no_files(self):
        r = random("no files")
        areas = reference.draw_areas(r)
        self.assert_left([{}], areas, *ALL)
        name = reference.Folder(r).name_of(reference.days(r, 1)[0])
        head = S["delimiter"].join(S["columns"]).encode() if name.endswith(".csv") else b""
        self.assert_left([{name: head}, {"notes.md": b"x"}], areas, *ALL)
