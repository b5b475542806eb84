"""Plain examples."""

import importlib.util
import unittest

EXAMPLES = zip(
    [[[]], [[[2, 5]]], [[[1, 4], [2, 6]]], [[[5, 9], [1, 6], [8, 20]]]],
    [[], [[2, 5]], [[1, 6]], [[1, 20]]],
)


class TestExamples(unittest.TestCase):
    def test_examples(self):
        spec = importlib.util.spec_from_file_location("written", "/app/work.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for arguments, expected in EXAMPLES:
            with self.subTest(arguments=arguments):
                self.assertEqual(module.joined(*arguments), expected)
