/** Programs that are nearly right: one piece reads a rule in another way. Each names the hidden tests that find it. */

import type { TESTS } from "./hidden-tests.ts";
import { CREATE, type Pieces, rightPieces } from "./program.ts";
import type { Spec } from "./spec.ts";

export interface FlawedProgram {
  readonly name: string;
  readonly pieces: Partial<Pieces>;
  /** Of the boundary tier, those that it fails whatever is drawn; not empty. */
  readonly fails: readonly (typeof TESTS.boundary.names)[number][];
}

/** Those that the spec has room for. */
export function flawsOf(spec: Spec): readonly FlawedProgram[] {
  const right = rightPieces(spec);
  const swapped = (piece: keyof Pieces, from: string, to: string): Partial<Pieces> => {
    if (!right[piece].includes(from)) throw new RangeError(`the ${piece} of the program hold no ${from}`);
    return { [piece]: right[piece].replaceAll(from, to) };
  };
  return [
    {
      name: "adds-on-a-second-run",
      pieces: {
        store: right.store
          .replace(/ {8}for table in .*\n {12}.*\n/, "")
          .replace(
            /^ {8}connection\.execute\("CREATE[\s\S]*?INTEGER, reason TEXT\)"\)$/m,
            CREATE(spec, "IF NOT EXISTS "),
          )
          .replace("INSERT INTO", "INSERT OR REPLACE INTO"),
      },
      fails: ["test_second_run"],
    },
    {
      name: "reads-over-bad-bytes",
      pieces: swapped("fields", 'raw.decode("utf-8")', 'raw.decode("utf-8", "replace")'),
      fails: ["test_bad_lines"],
    },
    {
      name: "rounds-amounts-down",
      pieces: { amount: floatAmount(spec) },
      fails: ["test_amounts"],
    },
    {
      name: "gives-up-at-the-first-bad-line",
      pieces: swapped("fields", '        return "encoding"', "        sys.exit(1)"),
      fails: ["test_bad_lines"],
    },
    {
      name: "numbers-lines-from-zero",
      pieces:
        swapped("lines", ", 1):", ", 0):").lines === undefined
          ? {}
          : { lines: right.lines.replace(", 1):", "):").replace("number == 1", "number == 0") },
      fails: ["test_bad_lines"],
    },
    {
      name: "stops-where-there-is-nothing",
      pieces: swapped(
        "store",
        "def store(database, facts, daily, rejects):\n",
        "def store(database, facts, daily, rejects):\n    if not facts:\n        return\n",
      ),
      fails: ["test_no_files"],
    },
    ...dayFlaws(spec, swapped),
    ...settleFlaws(spec),
    ...ruleFlaws(spec, right, swapped),
    ...extraFlaws(spec, right),
  ];
}

type Swap = (piece: keyof Pieces, from: string, to: string) => Partial<Pieces>;

function floatAmount({ amount, world }: Spec): string {
  if (amount === "unit") {
    return `def parse_amount(text):
    match = re.fullmatch("(-?[0-9]+(?:[.][0-9]{1,2})?) (${world.unit}|${world.part})", text)
    if match is None:
        return None
    return int(float(match[1]) * (100 if match[2] == "${world.unit}" else 1))`;
  }
  const mark = amount === "comma" ? "," : ".";
  return `def parse_amount(text):
    if not re.fullmatch("-?[0-9]+(?:[${mark}][0-9]{1,2})?", text):
        return None
    return int(float(text.replace("${mark}", ".")) * 100)`;
}

function dayFlaws({ when }: Spec, swapped: Swap): readonly FlawedProgram[] {
  if (when === "epoch") {
    return [
      {
        name: "takes-any-number-of-seconds",
        pieces: swapped("when", "{1,10}", "{1,11}"),
        fails: ["test_times_and_days"],
      },
    ];
  }
  return [
    {
      name: "days-of-local-clocks",
      pieces: swapped("when", "moment.astimezone(timezone.utc)", "moment"),
      fails: ["test_times_and_days"],
    },
  ];
}

function settleFlaws(spec: Spec): readonly FlawedProgram[] {
  const others = { first: "latest", latest: "first", conflict: "first" } as const;
  const other = rightPieces({ ...spec, duplicates: others[spec.duplicates] }).settle;
  const flaws: FlawedProgram[] = [
    { name: "keeps-another-of-equal-keys", pieces: { settle: other }, fails: ["test_equal_keys"] },
  ];
  const { settle } = rightPieces(spec);
  if (spec.duplicates === "latest") {
    flaws.push(
      {
        name: "first-of-equal-revisions",
        pieces: { settle: settle.replace(">=", ">") },
        fails: ["test_equal_keys"],
      },
      {
        name: "revisions-as-text",
        pieces: {
          settle: settle.replace(
            'record["revision"] >= other["revision"]',
            'str(record["revision"]) >= str(other["revision"])',
          ),
        },
        fails: ["test_equal_keys"],
      },
    );
  }
  if (spec.duplicates === "conflict") {
    flaws.push({
      name: "notes-make-no-difference",
      pieces: { settle: settle.replace(', "note")', ")") },
      fails: ["test_equal_keys"],
    });
  }
  return flaws;
}

function ruleFlaws({ unknown, lateDays }: Spec, right: Pieces, swapped: Swap): readonly FlawedProgram[] {
  const reason =
    unknown === "reject"
      ? right.reason.replace(/ {4}if record\["group"\][\s\S]*?"unknown"\n/, "")
      : right.reason.replace("areas):\n", 'areas):\n    if record["group"] not in areas:\n        return "unknown"\n');
  const flaws: FlawedProgram[] = [
    { name: "another-rule-for-unknown", pieces: { reason }, fails: ["test_unknown_groups"] },
  ];
  if (lateDays !== null) {
    flaws.push(
      { name: "late-by-one", pieces: swapped("reason", "> ", ">= "), fails: ["test_times_and_days"] },
      {
        name: "late-but-not-early",
        pieces: swapped("reason", "abs(apart.days)", "apart.days"),
        fails: ["test_times_and_days"],
      },
    );
  }
  return flaws;
}

function extraFlaws({ extra }: Spec, right: Pieces): readonly FlawedProgram[] {
  const wrong = {
    highest: right.extra.replace('max(row["amount"] for row in rows)', 'max([0, *(row["amount"] for row in rows)])'),
    median: right.extra.replace("(len(amounts) - 1) // 2", "len(amounts) // 2"),
    different: right.extra.replace('len({row["group"] for row in rows})', "len(rows)"),
    latest: right.extra.replace('(row["at"], row["key"])', 'row["at"]'),
  }[extra];
  return [{ name: "another-summary", pieces: { extra: wrong }, fails: ["test_summary_of_few"] }];
}
