/**
 * `shell-files`: file a tree of files by a script, under rules that are drawn: which count, which of equal ones stays, where
 * each goes under what name, what the report says. The script is graded on fresh trees with names that break scripts.
 */
import type { Random } from "../../../src/core/random.ts";
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { type DraftWrong, drawnFolder } from "../../../src/task/draft.ts";
import { bashScript, type Flaw } from "./bash-script.ts";
import { hiddenTests, TESTS, testId } from "./hidden-tests.ts";
import { instructionOf } from "./instruction.ts";
import { drawJob, type Job, type Place, type Tree, targetOf } from "./job.ts";
import { pythonScript } from "./python-script.ts";

/** Of the wrong solutions that fit a job, how many it ships beside the two that every job has. */
const DRAWN_WRONG = 4;

const WEIGHTS = { unit: 0.3, integration: 0.3, boundary: 0.4 };

export const generator: FolderGenerator = {
  name: "shell-files",
  family: "shell-files",
  version: 1,
  dials: {
    rules: {
      min: 1,
      max: 5,
      step: 1,
      meaning: "how many of the optional rules (selection, equal files, new names) are likely to be in force",
    },
    files: { min: 10, max: 40, step: 10, meaning: "files of the tree that is given" },
  },
  draw({ dials, random }) {
    const { rules = 3, files = 20 } = dials;
    const job = drawJob(random, rules);
    const given = drawTree(random.fork("given"), job, files);
    const expected = targetOf(job, given);
    // A given tree of which next to nothing is filed shows nothing.
    if (Object.keys(expected).length < 5) return null;
    return drawnFolder({
      slug: `${job.script}-${job.source}`,
      config: configOf(job, rules, files),
      instruction: instructionOf(job),
      image: {
        base: "host",
        programs: ["bash", "python3", "find", "sort", "sha256sum", "stat"],
        files: [{ source: "source", target: `/app/${job.source}` }],
      },
      setup: "chown -R 1000:1000 /app",
      environment: Object.fromEntries(Object.entries(given).map(([path, text]) => [`source/${path}`, raw(text)])),
      visible: { "example.txt": shown(expected) },
      tests: hiddenTests(job, given),
      solution: { solve: solve(job, bashScript(job)) },
      alternatives: { python: { solve: solve(job, pythonScript(job)) } },
      wrong: wrongSolutions(job, random.fork("wrong")),
    });
  },
};

/** Bytes as they are: a draft's text would get a line end. */
function raw(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function drawTree(random: Random, job: Job, count: number): Tree {
  const folders = ["", "", "docs/", "docs/old/", "mail/", "Photos/2021/", "work/site a/"];
  const stems = ["notes", "Report", "todo list", "scan", "invoice", "plan B", "readme", "photo", "Minutes", "draft 2"];
  const endings =
    job.select.kind === "extensions" ? [...job.select.of, "zip", "TXT"] : ["txt", "md", "jpg", "CSV", "log"];
  const values = ["north", "south", "west"];
  const tree: Record<string, string> = {};
  for (let index = 0; Object.keys(tree).length < count; index += 1) {
    const one = random.fork(`file-${index}`);
    const path = `${one.pick(folders)}${one.pick(stems)}.${one.pick(endings)}`;
    const word = job.select.kind === "first-line" && one.float() < 0.7 ? `${job.select.word} ` : "";
    const field = job.place.kind === "field" && word === "" && one.float() < 0.8 ? `${job.place.field}: ` : "";
    const text = `${word}${field}${one.pick(values)}\n${"lorem ".repeat(one.integer(0, 6))}\n`;
    const other = Object.values(tree)[0];
    tree[path] = other !== undefined && one.float() < 0.15 ? other : text;
  }
  return tree;
}

function shown(expected: Readonly<Record<string, string>>): string {
  return Object.entries(expected)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, text]) => `=== ${path}\n${text.replaceAll("\0", "\n")}`)
    .join("");
}

function solve(job: Job, script: string): string {
  const path = `/app/${job.script}.sh`;
  return `cat > ${path} <<'SCRIPT'\n${script}SCRIPT\nbash ${path} /app/${job.source} /app/${job.target}\n`;
}

function wrongSolutions(job: Job, random: Random): Readonly<Record<string, DraftWrong>> {
  const atBoundary = (script: string): DraftWrong => ({
    solve: solve(job, script),
    rewardMax: rounded(1 - WEIGHTS.boundary / TESTS.boundary.names.length),
    failsTier: "boundary",
  });
  const atIntegration = (script: string): DraftWrong => ({
    solve: solve(job, script),
    rewardMax: rounded(1 - WEIGHTS.integration / TESTS.integration.names.length),
    failsTier: "integration",
  });
  const atUnit = (script: string): DraftWrong => ({
    solve: solve(job, script),
    rewardMax: rounded((WEIGHTS.unit * (TESTS.unit.names.length - 1)) / TESTS.unit.names.length),
    failsTier: "unit",
  });
  const shell = (flaw: Flaw): string => bashScript(job, flaw);
  const isSelective = job.select.kind !== "all";
  const pool: readonly (readonly [string, DraftWrong])[] = [
    ["splits-on-lines", atBoundary(shell({ splitsOnLines: true }))],
    ["hidden-the-other-way", atBoundary(shell({ flipsHidden: true }))],
    ["no-second-run", atBoundary(shell({ isNotRepeatable: true }))],
    ["another-exit-code", atBoundary(shell({ exitsOne: true }))],
    ["ascii-names", atBoundary(pythonScript(job, "text-names"))],
    ["lines-in-the-report", atUnit(shell({ endsByLines: true }))],
    ["another-report", atUnit(shell({ otherReport: job.report === "path-size" ? "size-path" : "path-size" }))],
    ["another-folder", atUnit(shell({ otherPlace: otherPlace(job.place) }))],
    ...(isSelective ? ([["takes-all", atUnit(shell({ takesAll: true }))]] as const) : []),
    ...(job.rename === "numbered" ? [] : ([["another-name", atUnit(shell({ otherRename: "numbered" }))]] as const)),
    ...(job.dedup === "none"
      ? []
      : ([["keeps-equal-files", atIntegration(shell({ keepsDuplicates: true }))]] as const)),
    ...(job.dedup === "none" ? [] : ([["keeps-the-other-one", atIntegration(shell({ flipsDedup: true }))]] as const)),
  ];
  return {
    ...Object.fromEntries(random.shuffle(pool).slice(0, DRAWN_WRONG)),
    // Right on every tree but those where a folder's name is the start of a file's.
    "order-by-parts": atBoundary(pythonScript(job, "sorted-by-parts")),
    "script-not-run": {
      solve: `cat > /app/${job.script}.sh <<'SCRIPT'\n${bashScript(job)}SCRIPT\n`,
      rewardMax: rounded((WEIGHTS.unit * (TESTS.unit.names.length - 1)) / TESTS.unit.names.length),
      failsTier: "unit",
    },
  };
}

function otherPlace(place: Place): Place {
  return place.kind === "folder" ? { kind: "extension" } : { kind: "folder" };
}

function rounded(value: number): number {
  return Math.ceil(value * 10_000) / 10_000;
}

function configOf(job: Job, rules: number, files: number): Readonly<Record<string, unknown>> {
  const { script, target, reportName } = job;
  return {
    task: {
      description: `File a tree of files with odd names by a bash script (${job.place.kind}, ${job.rename}, ${job.select.kind}).`,
      keywords: ["shell", "bash", "coreutils"],
    },
    agent: { timeout_sec: 900 },
    verifier: { timeout_sec: 600 },
    environment: { cpus: 1, memory_mb: 256, storage_mb: 64, workdir: "/app" },
    sandlot: {
      family: "shell-files",
      difficulty: { level: Math.min(5, 2 + Math.floor(rules / 2)), dials: { rules, files } },
      limits: { turns: 40, command_sec: 60 },
      resources: { processes: 128 },
      contract: {
        files: [
          { path: `/app/${script}.sh`, required: true },
          { path: `/app/${target}`, required: true, kind: "tree" },
        ],
        bytes_max: 4_194_304,
        entries_max: 1_000,
      },
      protected: [`/app/${job.source}`],
      tiers: [
        { name: "unit", weight: WEIGHTS.unit },
        { name: "integration", weight: WEIGHTS.integration, requires: ["unit"] },
        { name: "boundary", weight: WEIGHTS.boundary, requires: ["unit"] },
      ],
      milestones: [
        { name: "script-is-there", predicate: { file: `/app/${script}.sh`, regex: "\\S" } },
        { name: "report-is-there", predicate: { file: `/app/${target}/${reportName}`, bytes_min: 1 } },
      ],
      requirements: requirementsOf(),
    },
  };
}

function requirementsOf(): readonly Readonly<Record<string, unknown>>[] {
  const of = (tier: keyof typeof TESTS, ...names: readonly string[]) => names.map((name) => testId(tier, name));
  return [
    {
      id: "selection-and-places",
      text: "The files that count are copied to their folders.",
      tests: [...of("unit", "test_selection_and_places"), ...of("integration", "test_many_files", "test_deep_folders")],
    },
    { id: "names", text: "Each kept file has the name that the rules give it.", tests: of("unit", "test_names") },
    { id: "report", text: "The report lists what is there, in order, in its form.", tests: of("unit", "test_report") },
    { id: "given-tree", text: "The tree that was given is filed.", tests: of("unit", "test_the_tree_that_was_given") },
    {
      id: "equal-files",
      text: "Files of equal content are treated as the rules say.",
      tests: of("integration", "test_equal_contents"),
    },
    {
      id: "odd-names",
      text: "Any name a file may have is kept as it is.",
      kind: "boundary",
      tests: of("boundary", "test_spaces_and_newlines", "test_quotes_globs_and_dashes", "test_dots_in_odd_places"),
    },
    {
      id: "hidden",
      text: "Hidden files are treated as the rules say.",
      kind: "boundary",
      tests: of("boundary", "test_hidden"),
    },
    { id: "links", text: "Symbolic links are ignored.", kind: "boundary", tests: of("boundary", "test_links") },
    {
      id: "equal-places",
      text: "Two files with one place are treated as the rules say.",
      kind: "boundary",
      tests: of("boundary", "test_equal_places"),
    },
    {
      id: "byte-order",
      text: "Files are taken in byte order.",
      kind: "boundary",
      tests: of("boundary", "test_byte_order"),
    },
    {
      id: "edges",
      text: "Empty files, sizes and first lines at the edge of a rule fall on the right side.",
      kind: "boundary",
      tests: of("boundary", "test_sizes_and_first_lines_at_the_edge", "test_nothing_to_file"),
    },
    { id: "repeatable", text: "A second run changes nothing.", kind: "boundary", tests: of("boundary", "test_again") },
    {
      id: "errors",
      text: "A missing source is refused with its exit code.",
      kind: "boundary",
      tests: of("boundary", "test_missing_source"),
    },
  ];
}
