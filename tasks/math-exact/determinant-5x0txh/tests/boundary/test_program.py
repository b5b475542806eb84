"""The program on instances that nobody has seen, and on degenerate ones."""

import unittest

from sandlot_subject import random, subject
from support import reference


class TestProgram(unittest.TestCase):
    def assert_solves(self, instance):
        ran = subject.run(["python3", "/app/solve.py"], stdin=instance.encode())
        self.assertEqual((ran.exit_code, ran.timed_out), (0, False), instance)
        self.assertEqual(ran.stdout.decode(errors="replace").strip(), reference.solve(instance), instance)

    def test_other_instances(self):
        r = random("instances")
        for _ in range(8):
            self.assert_solves(reference.draw(r))

    def test_degenerate_instances(self):
        for instance in reference.DEGENERATE:
            self.assert_solves(instance)
