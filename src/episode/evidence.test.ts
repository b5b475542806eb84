import { afterAll, expect, test } from "vitest";
import { greets, greetTask, planOf, ruleVerifier } from "../../test/support/episode-parts.ts";
import { namespaceEpisodes } from "../../test/support/namespace-episodes.ts";
import type { Evidence } from "../core/finding.ts";
import type { Task } from "../core/task.ts";
import type { TrajectoryRecord } from "../core/trajectory.ts";
import { scriptPolicy } from "../policy/oracle.ts";

const { runEpisode, close } = namespaceEpisodes(4, {
  verifier: ruleVerifier(greets),
  identity: ({ artifacts }) => artifacts.hash,
});
afterAll(close);

async function record(task: Task, commands: readonly string[]): Promise<TrajectoryRecord> {
  const policy = scriptPolicy({ name: "evidence", answer: null, files: [], commands });
  return runEpisode(planOf(task, policy), new AbortController().signal);
}

function evidenceOf({ document, bodies }: TrajectoryRecord): Evidence {
  expect(document.extra["evidenceProblems"]).toBeUndefined();
  return JSON.parse(Buffer.from(bodies.get(document.evidenceBlob ?? "") ?? "null").toString());
}

test("what the agent changed is listed, and nothing that was placed or set up for it", async () => {
  const task = greetTask({
    files: [
      { path: "/work/given.txt", bytes: Buffer.from("given"), mode: 0o644 },
      { path: "/work/mended.txt", bytes: Buffer.from("broken"), mode: 0o644 },
      { path: "/work/removed.txt", bytes: Buffer.from("gone"), mode: 0o644 },
    ],
  });
  const commands = [
    "printf hello > out; printf mended > mended.txt; rm removed.txt; mkdir -p /tmp/x; ln -s / /tmp/x/l",
  ];
  for (const setup of [null, "echo made > /etc/made-by-setup"]) {
    const { changes, changesDropped } = evidenceOf(await record({ ...task, setup }, commands));
    const files = changes.filter((change) => change.kind !== "folder");
    expect(files.map(({ path, change, kind }) => `${change} ${kind} ${path}`).sort()).toEqual([
      "added file /work/out",
      "added link /tmp/x/l",
      "modified file /work/mended.txt",
      "removed file /work/removed.txt",
    ]);
    expect(files.find((change) => change.path === "/work/mended.txt")).toMatchObject({ head: "mended", bytes: 6 });
    expect(changesDropped).toBe(0);
  }
});

test("what is alive at the freeze is named", async () => {
  const { processes } = evidenceOf(await record(greetTask(), ["setsid sleep 987 >/dev/null 2>&1 & sleep 0.3"]));
  expect(processes.map((process) => process.command)).toContain("sleep 987");
});

test("an agent that kills its own sandbox leaves its episode's evidence of the network and the reason of the rest", async () => {
  const { document } = await record(greetTask(), ["kill -9 -1; true"]);
  expect(document.outcome.kind).toBe("graded");
  expect(document.evidenceBlob).not.toBeNull();
});

test("an answer without a sandbox leaves no evidence", async () => {
  const task = greetTask({ contract: { state: "answer", files: [], bytesMax: 10, entriesMax: 1 } });
  expect((await record(task, [])).document.evidenceBlob).toBeNull();
});
