"""One message, alone and in company."""

from support.queue_job import QueueTest, Model, drawn_bodies, drawn_directory, given, given_rows, message, messages, random


class TestPlain(QueueTest):
    def test_one_message(self):
        draw = random("one")
        directory = drawn_directory(draw)
        self.queue([messages(draw, drawn_bodies(draw, directory, 1))], directory)

    def test_a_message_sent_twice(self):
        draw = random("twice")
        directory = drawn_directory(draw)
        body, *others = drawn_bodies(draw, directory, 5)
        one = message(draw, body)
        self.queue([[one, one, *messages(draw, others), one]], directory)

    def test_a_malformed_message(self):
        draw = random("malformed")
        directory = drawn_directory(draw)
        text = f"no JSON {draw.randrange(10**6)}".encode()
        self.queue([messages(draw, [text, *drawn_bodies(draw, directory, 2)])], directory)

    def test_given_messages(self):
        model = Model()
        found = given()
        model.run([[subject, text.encode()] for subject, text in found["messages"]], found["directory"])
        self.assertEqual(given_rows(), model.tables())
