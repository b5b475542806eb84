/** Small sources of every format that is imported, made for these tests. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export type SourceFiles = Readonly<Record<string, string>>;

const row = (value: unknown): string => `${JSON.stringify(value)}\n`;

export const HUMANEVAL: SourceFiles = {
  "rows.jsonl":
    row({
      task_id: "Made/0",
      prompt:
        'def halve_even(values):\n    """Halve each even number and leave out the odd ones.\n    >>> halve_even([2, 3])\n    [1]\n    """\n',
      entry_point: "halve_even",
      canonical_solution: "    return [value // 2 for value in values if value % 2 == 0]\n",
      test: "\n\nMETADATA = {}\n\n\ndef check(candidate):\n    assert candidate([2, 3]) == [1]\n    assert candidate([]) == []\n    assert candidate([8, 6, 5]) == [4, 3]\n",
      colour: "green",
    }) +
    row({ task_id: "Made/1", prompt: "x" }) +
    "no json\n",
};

export const MBPP: SourceFiles = {
  "rows.jsonl": row({
    task_id: 7,
    text: "Write a function to count the vowels of a word.",
    code: "def vowels(word):\n    return sum(letter in 'aeiou' for letter in word)",
    test_list: [
      "assert vowels('tree') == 2",
      "assert vowels('') == 0",
      "assert vowels('sky') == 0",
      "assert vowels('aeon') == 3",
    ],
    test_setup_code: "",
    challenge_test_list: [],
  }),
};

export const QUIXBUGS: SourceFiles = {
  "python_programs/largest.py":
    'def largest(values):\n    best = 0\n    for value in values:\n        best = max(best, value)\n    return best\n\n\n"""\nThe largest of a list.\n"""\n',
  "correct_python_programs/largest.py":
    "def largest(values):\n    best = values[0]\n    for value in values:\n        best = max(best, value)\n    return best\n",
  "json_testcases/largest.json": "[[[1, 2]], 2]\n[[[-3, -5]], -3]\n[[[4]], 4]\n[[[-1]], -1]\n[[[0.5, -0.5]], 0.5]\n",
  "python_programs/graph.py": "def graph(): pass\n",
  "correct_python_programs/graph.py": "def graph(): pass\n",
};

export const EXERCISM: SourceFiles = {
  "exercises/greet/.meta/config.json": JSON.stringify({
    files: { solution: ["greet.py"], test: ["greet_test.py"], example: [".meta/example.py"] },
  }),
  "exercises/greet/.docs/instructions.md":
    "# Instructions\n\nGreet a person by name. An empty name is refused with a `ValueError` that says `who?`.\n",
  "exercises/greet/greet.py": "def greet(name):\n    pass\n",
  "exercises/greet/.meta/example.py":
    'def greet(name):\n    if not name:\n        raise ValueError("who?")\n    return f"Hello, {name}"\n',
  "exercises/greet/greet_test.py":
    'import unittest\n\nfrom greet import (\n    greet,\n)\n\n\nclass GreetTest(unittest.TestCase):\n    def test_name(self):\n        self.assertEqual(greet("Ann"), "Hello, Ann")\n\n    def test_nobody(self):\n        with self.assertRaises(ValueError) as raised:\n            greet("")\n        self.assertEqual(raised.exception.args[0], "who?")\n\n\nif __name__ == "__main__":\n    unittest.main()\n',
  "exercises/clock/.meta/config.json": JSON.stringify({
    files: { solution: ["clock.py"], test: ["clock_test.py"], example: [".meta/example.py"] },
  }),
  "exercises/clock/.docs/instructions.md": "# Instructions\n\nWrite a clock.\n",
  "exercises/clock/clock.py": "class Clock: pass\n",
  "exercises/clock/.meta/example.py": "class Clock: pass\n",
  "exercises/clock/clock_test.py":
    "import unittest\n\nfrom clock import Clock\n\n\nclass ClockTest(unittest.TestCase):\n    pass\n",
};

export const VERIFIERS: SourceFiles = {
  "rows.jsonl":
    row({
      question: "How many legs have 1,200 spiders of eight legs?",
      answer: "They have 8 each.\n#### 9,600",
      task: "legs",
    }) +
    row({ prompt: [{ role: "user", content: "Name the capital of France." }], answer: "Paris" }) +
    row({ question: "Write a poem." }),
};

export const NEMO: SourceFiles = {
  "rows.jsonl":
    row({
      responses_create_params: {
        input: [{ role: "user", content: "What is 6 times 7?" }],
        tools: [{ name: "calculator" }],
      },
      expected_answer: "42",
    }) + row({ responses_create_params: { input: "Book a table." }, agent_ref: { name: "restaurant" } }),
};

export const TERMINAL_BENCH: SourceFiles = {
  "write-note/task.yaml":
    "instruction: |-\n  Write the word done into /app/note.txt.\nauthor_name: Ann\ndifficulty: easy\ncategory: files\ntags:\n  - files\nparser_name: pytest\nmax_agent_timeout_sec: 120\nmax_test_timeout_sec: 60\nrun_tests_in_same_shell: false\nfavourite: blue\n",
  "write-note/docker-compose.yaml": "services: {}\n",
  "write-note/run-tests.sh": "#!/bin/bash\npython3 $TEST_DIR/test_outputs.py\n",
  "write-note/solution.sh": "#!/bin/bash\necho done > /app/note.txt\n",
  "write-note/tests/test_outputs.py": 'assert open("/app/note.txt").read() == "done\\n"\n',
  "other/task.yaml": "instruction: x\nparser_name: swe\n",
};

/** Writes a source into a fresh folder, lends it, and removes it. */
export async function withSource<T>(files: SourceFiles, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "sandlot-import-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
