"""Plain examples."""

import importlib.util
import unittest

EXAMPLES = zip(
    [[3, 10, []], [3, 10, [1, 2, 3]], [2, 5, [0, 10, 20, 30]], [1, 2, [5]]],
    [[], [True, True, True], [True, True, True, True], [True]],
)


class TestExamples(unittest.TestCase):
    def test_examples(self):
        spec = importlib.util.spec_from_file_location("written", "/app/work.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for arguments, expected in EXAMPLES:
            with self.subTest(arguments=arguments):
                self.assertEqual(module.allowed(*arguments), expected)
