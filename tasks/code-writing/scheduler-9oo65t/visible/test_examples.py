"""Plain examples."""

import importlib.util
import unittest

EXAMPLES = zip(
    [[[]], [[["a", 5, 1, 2]]], [[["late", 20, 1, 2], ["early", 0, 1, 2]]]],
    [[], [['a', 5, 7]], [['early', 0, 2], ['late', 20, 22]]],
)


class TestExamples(unittest.TestCase):
    def test_examples(self):
        spec = importlib.util.spec_from_file_location("written", "/app/work.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for arguments, expected in EXAMPLES:
            with self.subTest(arguments=arguments):
                self.assertEqual(module.schedule(*arguments), expected)
