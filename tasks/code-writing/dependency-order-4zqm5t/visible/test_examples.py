"""Plain examples."""

import importlib.util
import unittest

EXAMPLES = zip(
    [[{}], [{"a": []}], [{"c": ["b"], "b": ["a"], "a": []}], [{"one": ["two"], "two": ["three"], "three": []}]],
    [[], ['a'], ['a', 'b', 'c'], ['three', 'two', 'one']],
)


class TestExamples(unittest.TestCase):
    def test_examples(self):
        spec = importlib.util.spec_from_file_location("written", "/app/dependency_order.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for arguments, expected in EXAMPLES:
            with self.subTest(arguments=arguments):
                self.assertEqual(module.ordered(*arguments), expected)
