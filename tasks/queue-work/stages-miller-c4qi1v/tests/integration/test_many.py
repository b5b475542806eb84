"""Many messages of all sorts."""

from support.queue_job import KEY, QueueTest, drawn_bodies, drawn_directory, messages, random


def mixture(draw, directory, count, start=0):
    bodies = drawn_bodies(draw, directory, count, start)
    for _ in range(count // 8):
        place = draw.randrange(len(bodies))
        bodies.insert(draw.randrange(place, len(bodies)) + 1, bodies[place])
    for text in (b"[1, 2]", b"{", b"\xff\xfe"):
        bodies.insert(draw.randrange(len(bodies)), text)
    stranger = dict(drawn_bodies(draw, directory, 1, start + count)[0])
    stranger[KEY] = "nobody"
    bodies.insert(draw.randrange(len(bodies)), stranger)
    return messages(draw, bodies)


class TestMany(QueueTest):
    def test_some_hundred_messages(self):
        draw = random("many")
        directory = drawn_directory(draw, 9)
        self.queue([mixture(draw, directory, 180)], directory, seconds=75)

    def test_two_starts(self):
        draw = random("two starts")
        directory = drawn_directory(draw)
        first, second = mixture(draw, directory, 30), mixture(draw, directory, 30, 40)
        self.queue([first, second + first[:10]], directory)
