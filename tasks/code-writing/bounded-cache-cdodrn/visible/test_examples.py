"""Plain examples."""

import importlib.util
import unittest

EXAMPLES = zip(
    [[3, 100, [["put", 0, "a", 1], ["get", 1, "a"], ["get", 2, "b"], ["put", 3, "b", "two"], ["get", 3, "b"]]], [5, 10, []], [4, 50, [["get", 1, "x"]]]],
    [[1, None, 'two'], [], [None]],
)


class TestExamples(unittest.TestCase):
    def test_examples(self):
        spec = importlib.util.spec_from_file_location("written", "/app/bounded_cache.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for arguments, expected in EXAMPLES:
            with self.subTest(arguments=arguments):
                self.assertEqual(module.simulate(*arguments), expected)
