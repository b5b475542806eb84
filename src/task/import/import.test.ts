import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { namespaceEpisodes } from "../../../test/support/namespace-episodes.ts";
import { importInto } from "../../app-tasks.ts";
import type { Script, Task } from "../../core/task.ts";
import { nopPolicy } from "../../policy/nop.ts";
import { scriptPolicy } from "../../policy/oracle.ts";
import { systemRuntime } from "../../runtime/system.ts";
import { createVerifier } from "../../verifier/verifier.ts";
import { taskOfFiles } from "../read-folder.ts";
import * as sources from "./fixture-support.ts";
import { withSource } from "./fixture-support.ts";
import { importTasks } from "./import-tasks.ts";

const NO_LICENCE = { licence: null };
const runtime = systemRuntime();
const episodes = namespaceEpisodes(4, { verifier: createVerifier({ runtime }), identity: async () => runtime.id() });

afterAll(() => episodes.close());

async function rewardOf(task: Task, script: Script | null): Promise<number | string> {
  const id = runtime.id();
  const { document } = await episodes.runEpisode(
    {
      ...{ runId: id, groupId: id, episodeId: id, member: 0, attempt: 1, fence: 1, taskSet: "import", split: "check" },
      ...{ task, policy: script === null ? nopPolicy() : scriptPolicy(script), samplingSeed: 0n, gradingSeed: 3n },
      ...{ recipeHash: "", queuedMs: 0, mayReuseVerdict: false, extraFiles: script?.files ?? [] },
    },
    new AbortController().signal,
  );
  return document.outcome.kind === "graded" ? document.outcome.reward : JSON.stringify(document.outcome);
}

function noteTexts(report: Awaited<ReturnType<typeof importTasks>>["report"]): readonly string[] {
  return report.tasks.flatMap(({ notes }) => notes.map(({ kind, field, line }) => `${kind} ${field} ${line ?? "-"}`));
}

test.each([
  ["humaneval", sources.HUMANEVAL, "rows.jsonl", ["made-0"], 2],
  ["mbpp", sources.MBPP, "rows.jsonl", ["mbpp-7"], 0],
  ["quixbugs", sources.QUIXBUGS, ".", ["largest"], 1],
  ["exercism", sources.EXERCISM, "exercises", ["greet"], 1],
  ["verifiers", sources.VERIFIERS, "rows.jsonl", ["legs-1", "question-2"], 1],
  ["nemo-gym", sources.NEMO, "rows.jsonl", ["question-1"], 1],
  ["terminal-bench", sources.TERMINAL_BENCH, ".", ["write-note"], 1],
])(
  "%s is told by its files, and becomes tasks whose oracle earns 1 and whose nop earns 0",
  async (format, files, path, names, skipped) => {
    await withSource(files, async (folder) => {
      const { tasks, report } = await importTasks(join(folder, path), null, NO_LICENCE);
      expect([report.format, tasks.map(({ name }) => name)]).toEqual([format, names]);
      expect(report.skipped.map(({ reason }) => reason)).toHaveLength(skipped);
      const again = await importTasks(join(folder, path), format, NO_LICENCE);
      expect(again.tasks).toEqual(tasks);
      const [first] = tasks;
      const { task } = taskOfFiles(first?.name ?? "", first?.files ?? []);
      expect(task.key).toBe(`${format}/${names[0]}`);
      expect([await rewardOf(task, task.oracle), await rewardOf(task, null)]).toEqual([1, 0]);
    });
  },
  120_000,
);

test("what a format cannot carry is in the report, with the line where there is one", async () => {
  const reports = new Map<string, readonly string[]>();
  for (const [name, files] of Object.entries({ human: sources.HUMANEVAL, nemo: sources.NEMO })) {
    await withSource(files, async (folder) => {
      reports.set(name, noteTexts((await importTasks(join(folder, "rows.jsonl"), null, NO_LICENCE)).report));
    });
  }
  await withSource(sources.TERMINAL_BENCH, async (folder) => {
    const { report } = await importTasks(folder, null, NO_LICENCE);
    reports.set("terminal", noteTexts(report));
    expect(report.skipped[0]?.reason).toBe("Its parser_name is swe; only pytest is carried.");
  });
  expect(reports.get("human")).toContain("unknown colour 1");
  expect(reports.get("nemo")).toContain("dropped tools 1");
  expect(reports.get("terminal")).toEqual([
    ...["unknown favourite 12", "dropped run_tests_in_same_shell 11", "defaulted environment -"],
    ...["dropped docker-compose.yaml -", "mapped run-tests.sh -"],
  ]);
});

test("a Terminal-Bench task with a Dockerfile is built from it, and the report says so", async () => {
  const files = { ...sources.TERMINAL_BENCH, "write-note/Dockerfile": "FROM debian:bookworm\nWORKDIR /app\n" };
  await withSource(files, async (folder) => {
    const { tasks, report } = await importTasks(folder, null, NO_LICENCE);
    const [first] = tasks;
    const { task } = taskOfFiles(first?.name ?? "", first?.files ?? []);
    expect([task.image, task.workdir]).toEqual([expect.stringMatching(/^dockerfile:.*\/environment$/), "/app"]);
    expect(noteTexts(report)).toContain("mapped Dockerfile -");
  });
});

test("an import writes folders and a report, keeps the licence, and leaves its source alone", async () => {
  await withSource(sources.HUMANEVAL, async (folder) => {
    const source = join(folder, "rows.jsonl");
    cpSync(source, join(folder, "before.jsonl"));
    const { folders } = await importInto(source, { out: join(folder, "out"), format: null, licence: "MIT" });
    expect(folders).toEqual([join(folder, "out/made-0")]);
    expect(readFileSync(join(folder, "out/made-0/task.toml"), "utf8")).toContain('licence = "MIT"');
    expect(JSON.parse(readFileSync(join(folder, "out/import-report.json"), "utf8"))).toMatchObject({
      format: "humaneval",
      skipped: [
        { name: "Made/1", line: 2, reason: expect.stringContaining("lacks one of prompt") },
        { name: "line 3", line: 3, reason: "The row is no JSON object." },
      ],
    });
    expect(readFileSync(source)).toEqual(readFileSync(join(folder, "before.jsonl")));
    const again = importInto(source, { out: join(folder, "out"), format: null, licence: null });
    await expect(again).rejects.toThrow(/made-0: is there already/);
  });
});

test.each([
  ["no format", { "a.txt": "x" }, "a.txt", null, /is in no format that is known; name one of terminal-bench/],
  [
    "a mistyped format",
    { "a.jsonl": "{}" },
    "a.jsonl",
    "humanevl",
    /"humanevl" is no format that is known; write humaneval/,
  ],
  ["nothing in it", { "a.txt": "x" }, "gone", null, /gone: is not there; name the file or folder to import/],
  ["broken YAML", { "t/task.yaml": "instruction: [\n" }, "t", null, /task\.yaml:\d+: is no YAML table/],
])("a source with %s is refused by name", async (_what, files, path, format, message) => {
  await withSource(files, async (folder) => {
    await expect(importTasks(join(folder, path), format, NO_LICENCE)).rejects.toThrow(message);
  });
});
