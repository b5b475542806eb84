/**
 * Exact arithmetic: the answer to one large instance, and a program that solves any instance of the same problem. The
 * hidden tests compare with a reference of another approach than the oracle's, on instances drawn at grading.
 */
import type { Random } from "../../../src/core/random.ts";
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { type DraftSolution, type DraftWrong, drawnFolder } from "../../../src/task/draft.ts";
import type { Problem, Slip } from "./problem.ts";
import { COUNTING } from "./problems/counting.ts";
import { NUMBERS } from "./problems/numbers.ts";
import { RATIONALS } from "./problems/rationals.ts";

const PROBLEMS: readonly Problem[] = [...NUMBERS, ...COUNTING, ...RATIONALS];

/** What a right answer and a program without one earn; the program's share is halved between its two tests. */
const SHARE = { answer: 0.4, twins: 0.3, degenerate: 0.3 } as const;

const TESTS = {
  answer: "unit/test_answer.py::TestAnswer.test_stated_instance",
  twins: "boundary/test_program.py::TestProgram.test_other_instances",
  degenerate: "boundary/test_program.py::TestProgram.test_degenerate_instances",
} as const;

export const generator: FolderGenerator = {
  name: "math-exact",
  family: "math-exact",
  version: 1,
  dials: {
    problem: {
      min: 0,
      max: PROBLEMS.length,
      step: 1,
      meaning: "which problem is posed, from 1 in order of writing; 0 leaves it to the seed",
    },
    size: { min: 1, max: 5, step: 1, meaning: "how large the stated instance is" },
  },
  draw({ dials: { problem: wanted = 0, size = 2 }, random }) {
    const structure = random.fork("structure");
    const problem = wanted === 0 ? structure.pick(PROBLEMS) : PROBLEMS[wanted - 1];
    if (problem === undefined) return null;
    const instance = `${problem.instance(random.fork("instance"), size)}\n`;
    return drawnFolder({
      slug: problem.id,
      config: configOf(problem, size),
      instruction: instructionOf(problem, instance, random.fork("surface")),
      image: { base: "host", programs: ["python3", "bash"] },
      setup: "mkdir -p /app\nchown 1000:1000 /app",
      tests: {
        "support/reference.py": `"""Solves an instance, and draws others."""\n${problem.other}\n${problem.twins}`,
        "unit/test_answer.py": answerTest(instance),
        "boundary/test_program.py": PROGRAM_TEST,
      },
      solution: solutionOf(problem.oracle, instance),
      alternatives: { "another-way": solutionOf(problem.other, instance) },
      wrong: wrongOf(problem, instance),
    });
  },
};

function instructionOf(problem: Problem, instance: string, random: Random): string {
  const opening = random.pick([
    "Solve an exact problem",
    "Compute an exact value",
    "Answer a question of exact arithmetic",
  ]);
  return `# ${problem.title}

${opening}, once for the instance below and once as a program for any instance. Nothing is rounded: only the exact value counts.

**The problem.** ${problem.statement}

**An instance** is a text. ${problem.format}

**The answer** is one line: ${problem.answerForm}.

## What to make

1. \`/app/answer.txt\`: the answer to this instance, as one line:

\`\`\`
${instance}\`\`\`

2. \`/app/solve.py\`: a program for Python 3 with its standard library alone. \`python3 /app/solve.py\` reads one instance from its
   standard input, prints its answer as one line to its standard output and exits with code 0. It is run on other instances that are no
   larger than the one above, and has 10 seconds for each.

## Degenerate instances

The program must also answer these: ${problem.degenerate.charAt(0).toLowerCase()}${problem.degenerate.slice(1)}
`;
}

function configOf(problem: Problem, size: number): Readonly<Record<string, unknown>> {
  return {
    task: {
      description: `${problem.title}: an exact answer, and a program for any instance.`,
      keywords: ["mathematics", "exact", problem.id],
    },
    agent: { timeout_sec: 900 },
    verifier: { timeout_sec: 300 },
    environment: { cpus: 1, memory_mb: 256, storage_mb: 64, workdir: "/app" },
    sandlot: {
      family: "math-exact",
      difficulty: { level: size, dials: { size } },
      limits: { turns: 30, command_sec: 60 },
      contract: {
        files: [
          { path: "/app/answer.txt", required: true, bytes_max: 65_536 },
          { path: "/app/solve.py", required: true, bytes_max: 262_144 },
        ],
      },
      tiers: [
        { name: "unit", weight: SHARE.answer },
        { name: "boundary", weight: SHARE.twins + SHARE.degenerate },
      ],
      milestones: [
        { name: "program-written", predicate: { file: "/app/solve.py", bytes_min: 1 } },
        { name: "answer-written", predicate: { file: "/app/answer.txt", bytes_min: 1 } },
      ],
      requirements: [
        {
          id: "stated-instance",
          text: "The answer file holds the exact answer to the stated instance.",
          kind: "functional",
          tests: [TESTS.answer],
        },
        {
          id: "other-instances",
          text: "The program answers other instances of the same problem.",
          kind: "functional",
          tests: [TESTS.twins],
        },
        {
          id: "degenerate-instances",
          text: "The program answers the degenerate instances that are listed.",
          kind: "boundary",
          tests: [TESTS.degenerate],
        },
      ],
    },
  };
}

const answerTest = (instance: string): string => `"""The answer to the stated instance."""

import unittest

from sandlot_subject import artifacts
from support import reference

INSTANCE = """${instance}"""


class TestAnswer(unittest.TestCase):
    def test_stated_instance(self):
        written = (artifacts / "app" / "answer.txt").read_text(encoding="utf-8", errors="replace")
        self.assertEqual(written.strip(), reference.solve(INSTANCE))
`;

const PROGRAM_TEST = `"""The program on instances that nobody has seen, and on degenerate ones."""

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
`;

const programOf = (solver: string): string =>
  `${solver.trim()}\n\n\nif __name__ == "__main__":\n    import sys\n\n    print(solve(sys.stdin.read()))\n`;

function scriptOf(solver: string, instance: string): string {
  return [
    "set -e",
    `cat > /app/solve.py <<'PROGRAM'\n${programOf(solver)}PROGRAM`,
    `python3 /app/solve.py > /app/answer.txt <<'INSTANCE'\n${instance}INSTANCE`,
  ].join("\n");
}

const solutionOf = (solver: string, instance: string): DraftSolution => ({ solve: scriptOf(solver, instance) });

function wrongOf(problem: Problem, instance: string): Readonly<Record<string, DraftWrong>> {
  const right = scriptOf(problem.oracle, instance);
  const program = SHARE.twins + SHARE.degenerate;
  return {
    "answer-only": { solve: `${right}\nrm /app/solve.py`, rewardMax: SHARE.answer, failsTier: "boundary" },
    "program-only": { solve: `${right}\nrm /app/answer.txt`, rewardMax: program, failsTier: "unit" },
    "prints-the-stated-answer": {
      solve: `${right}\nprintf 'print("%s")\\n' "$(cat /app/answer.txt)" > /app/solve.py`,
      rewardMax: SHARE.answer,
      failsTier: "boundary",
    },
    "another-answer": {
      solve: `${right}\nprintf '1' | cat - /app/answer.txt > /tmp/other\ncp /tmp/other /app/answer.txt`,
      rewardMax: program,
      failsTier: "unit",
    },
    ...Object.fromEntries(problem.slips.map((slip) => [slip.name, slipped(problem, slip, instance)])),
  };
}

function slipped({ oracle }: Problem, { from, to, fails }: Slip, instance: string): DraftWrong {
  const earned = (["answer", "twins", "degenerate"] as const).filter((part) => !fails.includes(part));
  const rewardMax = earned.reduce((sum, part) => sum + SHARE[part], 0);
  return {
    solve: scriptOf(oracle.replace(from, to), instance).replace("set -e\n", ""),
    rewardMax: Number(rewardMax.toFixed(2)),
    failsTier: fails.some((part) => part !== "answer") ? "boundary" : "unit",
  };
}
