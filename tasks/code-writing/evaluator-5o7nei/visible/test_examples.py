"""Plain examples."""

import importlib.util
import unittest

EXAMPLES = zip(
    [["7"], ["1 + 2*3"], ["(1+2) * 3 - 4"], ["20/4/5"], ["-5 + 2^3"]],
    [7, 7, 5, 1, 3],
)


class TestExamples(unittest.TestCase):
    def test_examples(self):
        spec = importlib.util.spec_from_file_location("written", "/app/evaluator.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for arguments, expected in EXAMPLES:
            with self.subTest(arguments=arguments):
                self.assertEqual(module.evaluate(*arguments), expected)
