"""Programs that are ended, brokers that go away, and messages at the edges of the rules."""

import json

from support.queue_job import (
    ID, KEY, LIMIT, TYPES, QueueTest, drawn_bodies, drawn_directory, edges, message, messages, random, some_value,
)


class TestFaults(QueueTest):
    def ended(self, label, faults, count=12, poison=0):
        draw = random(label)
        directory = drawn_directory(draw)
        bad = [f"bad {draw.randrange(10**6)}".encode() for _ in range(poison)]
        self.queue([messages(draw, bad + drawn_bodies(draw, directory, count))], directory, faults)

    def test_ended_before_acknowledging(self):
        nth = random("before").randrange(3, 9)
        self.ended("before", [{"at": "ack", "nth": nth, "do": "kill"}])

    def test_ended_while_acknowledging(self):
        nth = random("while").randrange(3, 9)
        self.ended("while", [{"at": "ack", "nth": nth, "do": "kill-and-pass"}])

    def test_ended_at_a_dead_letter(self):
        # The first publication of all is the dead letter of the first message.
        self.ended("letter", [{"at": "letter", "nth": 1, "do": "kill-and-pass"}], count=3, poison=1)

    def test_ended_again_and_again(self):
        places = sorted(random("again").sample(range(2, 22), 3))
        kinds = ["kill", "kill-and-pass", "kill"]
        self.ended("again", [{"at": "ack", "nth": nth, "do": do} for nth, do in zip(places, kinds)], count=25)

    def test_unknown_until_the_limit(self):
        draw = random("unknown")
        directory = drawn_directory(draw)
        bodies = drawn_bodies(draw, directory, 6)
        bodies[draw.randrange(1, 4)][KEY] = "stranger"
        self.queue([messages(draw, bodies)], directory)

    def test_known_before_the_limit(self):
        draw = random("later")
        later = drawn_directory(draw)
        name, *others = sorted(later)
        directory = {key: later[key] for key in others}
        # More of the same key, and of others, come behind the first that must wait: where order counts they wait, too.
        waiting = drawn_bodies(draw, {name: later[name]}, 4, 2)
        bodies = drawn_bodies(draw, directory, 2) + waiting + drawn_bodies(draw, directory, 4, 6)
        faults = [{"at": "nak", "nth": 1, "do": "learn", "directory": later}]
        self.queue([messages(draw, bodies)], directory, faults, later)

    def test_broker_restarted(self):
        draw = random("restart")
        directory = drawn_directory(draw)
        faults = [{"at": "ack", "nth": draw.randrange(4, 12), "do": "restart"}]
        self.queue([messages(draw, drawn_bodies(draw, directory, 20))], directory, faults)

    def test_nothing_to_do(self):
        self.queue([[]], drawn_directory(random("nothing")))

    def test_all_ways_to_be_malformed(self):
        draw = random("ways")
        directory = drawn_directory(draw)
        good = drawn_bodies(draw, directory, 2 * len(TYPES) + 2)
        bodies = [good.pop(), b"", b"null", b"[]", b'"text"', b"{", b"\xc3\x28", b"{}"]
        for name, kind in TYPES.items():
            without = {key: value for key, value in good.pop().items() if key != name}
            bodies += [without, {**without, name: None}, {**without, name: "" if kind is str else "7"}, {**without, name: True}]
            bodies += [{**without, name: 5 if kind is str else 5.0}, {**without, name: [good[0][name]]}]
        more = {**good.pop(), "further": [1, {"fields": "are ignored"}]}
        self.queue([messages(draw, bodies + [more, *good])], directory)

    def test_edges(self):
        draw = random("edges")
        directory, bodies = edges(draw)
        names = draw.sample(range(10**6), len(bodies))
        self.queue([messages(draw, [{ID: f"id {name}", **body} for name, body in zip(names, bodies)])], directory)

    def test_ended_while_publishing(self):
        nth = random("publishing").randrange(1, 3)
        self.ended("publishing", [{"at": "out", "nth": nth, "do": "kill-and-pass"}], count=20)
