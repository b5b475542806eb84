/** Checks 37 and 38: a stranger can read the instruction, and it gives no solution away. */
import type { Task } from "../../../core/task.ts";
import type { Finding } from "../check-contract.ts";
import { fileName, firstLine } from "./test-sources.ts";

const INSTRUCTION_CHARACTERS = { min: 40, max: 8_000 };
const OVERLAP_WORDS = 12;

/** Check 37: a stranger can read it: absolute paths, no placeholder, a sane length, no hidden characters. */
export function instructionForm(task: Task): Finding {
  const file = task.folder === null ? null : fileName(task, "instruction.md");
  const text = task.instruction;
  const fail = (line: number | null, evidence: string): Finding => {
    const place = file === null ? "" : line === null ? `${file}: ` : `${file}:${line} `;
    return { status: "fail", evidence: `${place}${evidence}`, file, line };
  };
  if (text.length < INSTRUCTION_CHARACTERS.min || text.length > INSTRUCTION_CHARACTERS.max) {
    const { min, max } = INSTRUCTION_CHARACTERS;
    return fail(null, `has ${text.length} characters, not ${min} to ${max}`);
  }
  const placeholder = firstLine(
    text,
    /\bTODO\b|\bTBD\b|\bFIXME\b|\bXXX\b|<(?:your|insert|path)[^>]*>|\{\{.*\}\}|lorem ipsum/i,
  );
  if (placeholder) return fail(placeholder.line, `holds a placeholder: ${placeholder.text}`);
  const hidden = firstLine(text, /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|<!--/);
  if (hidden) return fail(hidden.line, "holds hidden characters or a comment");
  const relative = firstLine(text, /(?:^|[\s(`"'])\.{1,2}\/[A-Za-z0-9_]/);
  if (relative) return fail(relative.line, `names a path that is not absolute: ${relative.text}`);
  return { status: "pass", evidence: `${text.length} characters, no placeholder, no relative path` };
}

/** Check 38: no run of twelve words stands both in the instruction and in the oracle. */
export function noSolutionText(task: Task): Finding {
  const { oracle } = task;
  const solution = [oracle.answer ?? "", ...oracle.files.map(({ bytes }) => new TextDecoder().decode(bytes))].join(
    "\n",
  );
  const runs = new Set(wordRuns(solution));
  const shared = wordRuns(task.instruction).find((run) => runs.has(run));
  if (shared === undefined) return { status: "pass", evidence: `no ${OVERLAP_WORDS} words in common with the oracle` };
  const file = task.folder === null ? null : fileName(task, "instruction.md");
  return { status: "fail", evidence: `the instruction gives away the oracle: ${shared}`, file };
}

function wordRuns(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return (
    words
      .slice(0, Math.max(0, words.length - OVERLAP_WORDS + 1))
      .map((_word, index) => words.slice(index, index + OVERLAP_WORDS))
      // Numbers alone are the problem's own, which a solution may well repeat.
      .filter((run) => 2 * run.filter((word) => /\p{L}/u.test(word)).length >= OVERLAP_WORDS)
      .map((run) => run.join(" "))
  );
}
