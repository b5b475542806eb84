"""Larger trees with plain names, as somebody's real ones are."""

from sandlot_subject import random
from support import job

FOLDERS = ["", "docs/", "img/", "docs/old/", "mail/2021/", "mail/2022/", "x/y/z/"]
ENDINGS = ["txt", "md", "jpg", "csv", "log", "pdf", "json", "conf", "TXT", "Jpg"]


class TestLarge(job.JobTestCase):
    def tree(self, label, count):
        numbers = random(label)
        stems = [f"{word}{number}" for number in range(count // 5 + 1) for word in ("note", "Scan", "bill", "plan", "list")]
        names = {f"{numbers.choice(FOLDERS)}{numbers.choice(stems)}.{numbers.choice(ENDINGS)}" for _ in range(count)}
        return {name.encode(): job.content(label, index) for index, name in enumerate(sorted(names))}

    def test_many_files(self):
        self.assert_files(self.tree("many", 40))

    def test_deep_folders(self):
        end = job.ending()
        self.assert_files({("d/" * depth + f"n{depth}{end}").encode(): job.taken("deep", depth) for depth in range(12)})

    def test_equal_contents(self):
        end = job.ending()
        places = ["b/one", "a/two", "three", "c/d/four", "A/five", "six", "b/seven", "a/b/eight"]
        self.assert_files({f"{place}{end}".encode(): job.taken("equal", at % 3) for at, place in enumerate(places)})
