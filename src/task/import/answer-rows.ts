/**
 * Rows of question and answer, as verifiers and NeMo Gym keep them. The agent writes its answer to a file, which is held
 * against the row's by the rule that the row names: exact text, number, or pattern. Rows whose reward is a program or a
 * running server are skipped.
 */
import { drawnFolder } from "../draft.ts";
import { type ImportedTask, type Importer, type ImportNote, slugOf } from "./import-contract.ts";
import { textField } from "./read-source.ts";
import { type Row, type RowSource, rowImporter } from "./row-importer.ts";

interface Question {
  readonly name: string;
  readonly text: string;
  readonly answer: string;
  readonly rule: "exact" | "number" | "pattern";
  readonly notes: readonly ImportNote[];
}

export const verifiersRows: Importer = rowImporter({
  format: "verifiers",
  title: "verifiers JSON lines: prompt or question, answer",
  read: verifiersQuestion,
  nameOf,
  taskOf,
});

export const nemoRows: Importer = rowImporter({
  format: "nemo-gym",
  title: "NeMo Gym JSON lines: responses_create_params, expected answer",
  read: nemoQuestion,
  nameOf,
  taskOf,
});

function nameOf(_row: Row | null, line: number): string {
  return `line ${line}`;
}

function verifiersQuestion(row: Row, line: number): Question | string {
  const text = textField(row, "question") ?? messagesText(row["prompt"]);
  const info = objectField(row, "info");
  const answer = textField(row, "answer") ?? textField(info, "answer", "expected_answer");
  if (text === null) return "has no prompt or question that is text";
  if (answer === null) return "has no answer that is text, so its reward is a program that is not carried";
  const known = ["question", "prompt", "answer", "info", "task", "example_id"];
  return { ...plain(`${textField(row, "task") ?? "question"}-${line}`, text, answer), notes: rest(row, line, known) };
}

function nemoQuestion(row: Row, line: number): Question | string {
  const params = objectField(row, "responses_create_params");
  const text = messagesText(params["input"]);
  if (text === null) return "has no responses_create_params.input that is text";
  const metadata = objectField(row, "verifier_metadata");
  const pattern = textField(row, "expected_pattern") ?? textField(metadata, "regex", "pattern");
  const answer =
    pattern ?? textField(row, "expected_answer", "answer") ?? textField(metadata, "expected_answer", "answer");
  if (answer === null) return "names no expected answer; rows of a resources server stay with their server";
  const question = plain(`question-${line}`, text, answer);
  const tools: readonly ImportNote[] = Array.isArray(params["tools"])
    ? [
        {
          kind: "dropped",
          field: "tools",
          line,
          text: "the tools are shell and submit; those of the row are not served",
        },
      ]
    : [];
  const known = ["responses_create_params", "expected_answer", "answer", "expected_pattern", "verifier_metadata"];
  return {
    ...question,
    rule: pattern === null ? question.rule : "pattern",
    notes: [...rest(row, line, known), ...tools],
  };
}

function plain(name: string, text: string, answer: string): Omit<Question, "notes"> {
  // What a worked answer ends with, where it marks it.
  const final = /####\s*(.+?)\s*$/.exec(answer)?.[1] ?? /\\boxed\{([^{}]+)\}/.exec(answer)?.[1] ?? answer.trim();
  const isNumber = /^-?[\d,]+(?:\.\d+)?$/.test(final);
  return { name, text, answer: isNumber ? final.replaceAll(",", "") : final, rule: isNumber ? "number" : "exact" };
}

/** A text, or the texts of the messages of a chat, without what the assistant said. */
function messagesText(value: unknown): string | null {
  if (typeof value === "string") return value.trim() === "" ? null : value;
  if (!Array.isArray(value)) return null;
  const texts = value.flatMap((message: Row) =>
    message?.["role"] === "assistant" || typeof message?.["content"] !== "string" ? [] : [message["content"]],
  );
  return texts.length === 0 ? null : texts.join("\n\n");
}

function objectField(row: Row, name: string): Row {
  const value = row[name];
  return typeof value === "object" && value !== null ? (value as Row) : {};
}

function rest(row: Row, line: number, known: readonly string[]): readonly ImportNote[] {
  return Object.keys(row)
    .filter((key) => !known.includes(key))
    .map((field) => ({ kind: "unknown", field, line, text: "is no field of this format; it was left out" }));
}

const FORMS: Readonly<Record<Question["rule"], string>> = {
  exact: "exactly the answer on one line, without quotes",
  number: "the answer as a plain number on one line, without units or thousands separators",
  pattern: "the answer on one line",
};

function taskOf({ name, text, answer, rule, notes }: Question, { format, source, licence }: RowSource): ImportedTask {
  const right = rule === "pattern" ? null : answer;
  const drawn = drawnFolder({
    slug: slugOf(name),
    config: {
      artifacts: ["/app/answer.txt"],
      source,
      task: { description: text.trim().split("\n")[0]?.slice(0, 120) ?? "", keywords: ["question", "benchmark-text"] },
      metadata: { origin: format, ...(licence === null ? {} : { licence }) },
      agent: { timeout_sec: 600 },
      environment: { workdir: "/app", memory_mb: 256 },
      sandlot: { family: `imported-${format}`, tiers: [{ name: "unit" }] },
    },
    instruction: `${text.trimEnd()}\n\nWrite ${FORMS[rule]} into the file \`/app/answer.txt\`. Only that file is graded.\n`,
    image: { base: "host", programs: ["bash"] },
    setup: "mkdir -p /app\nchown 1000:1000 /app\n",
    tests: { "unit/test_answer.py": testFile(rule), "support/answer.txt": `${answer}\n` },
    // A pattern has no answer of its own to show; what it accepts is left to its author.
    solution: { solve: `printf '%s\\n' ${quoted(right ?? answer)} > /app/answer.txt` },
    alternatives: {},
    wrong: {
      empty: { solve: ": > /app/answer.txt", rewardMax: 0, failsTier: "unit" },
      other: { solve: "echo 'I do not know' > /app/answer.txt", rewardMax: 0, failsTier: "unit" },
    },
  });
  const guessed: readonly ImportNote[] =
    rule === "pattern"
      ? [
          {
            kind: "defaulted",
            field: "solution",
            line: null,
            text: "a pattern names no answer; mend solution/solve.sh",
          },
        ]
      : [];
  return { drawn, notes: [...notes, ...guessed] };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function testFile(rule: Question["rule"]): string {
  const body = {
    exact: "self.assertEqual(said, answer)",
    number:
      "self.assertRegex(said, r'^[-+]?[0-9]+(\\.[0-9]+)?$')\n        self.assertEqual(Decimal(said), Decimal(answer))",
    pattern: "self.assertRegex(said, answer)",
  }[rule];
  return `import pathlib
import unittest
${rule === "number" ? "from decimal import Decimal\n" : ""}
from sandlot_subject import artifacts


class TestAnswer(unittest.TestCase):
    def test_answer(self):
        path = artifacts / "app" / "answer.txt"
        self.assertTrue(path.is_file(), "/app/answer.txt is missing")
        self.assertLess(path.stat().st_size, 100_000)
        said = path.read_text(encoding="utf-8", errors="replace").strip()
        answer = (pathlib.Path(__file__).parent.parent / "support" / "answer.txt").read_text(encoding="utf-8").strip()
        ${body}
`;
}
