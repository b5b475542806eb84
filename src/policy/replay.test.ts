/** Replay meets the same observations on a deterministic task, and tells where it does not. */
import { expect, test } from "vitest";
import { greets, greetTask, memory, planOf, ruleVerifier } from "../../test/support/episode-parts.ts";
import { tinyPool } from "../../test/support/tiny-sandbox.ts";
import type { TrajectoryRecord } from "../core/trajectory.ts";
import { createEpisodeRunner } from "../episode/run-episode.ts";
import { systemRuntime } from "../runtime/system.ts";
import { type ReplayDifference, replayPolicy } from "./replay.ts";
import { scriptAction, scriptCall } from "./script-action.ts";
import { scriptedPolicy } from "./scripted.ts";
import { shellTool } from "./tool/shell.ts";
import { submitTool } from "./tool/submit.ts";

const runtime = systemRuntime();
const { signal } = new AbortController();

const runEpisode = createEpisodeRunner({
  pool: tinyPool(runtime),
  verifier: ruleVerifier(greets),
  verdicts: memory(),
  identity: ({ artifacts }) => artifacts.hash,
  tools: [shellTool(), submitTool()],
  systemText: "",
  runtime,
  code: { sandlot: "0.0.0", commit: null },
});

const shell = (...commands: string[]) =>
  scriptAction(commands.map((command, index) => scriptCall(index, "shell", { command })));
const malformed = scriptAction([
  { id: "x", name: "shell", argumentsRaw: "{", arguments: null, parseError: "not JSON" },
]);

function storedFrom({ document, bodies }: TrajectoryRecord) {
  return { document, body: async (hash: string) => bodies.get(hash) ?? new Uint8Array() };
}

test("a replayed episode meets the same observations and ends the same", async () => {
  const policy = scriptedPolicy([
    shell("write /work/out hello", "read /work/out"),
    malformed,
    scriptAction([], "thinking"),
    scriptAction([scriptCall(0, "submit", {}), scriptCall(1, "shell", { command: "never run" })]),
  ]);
  const first = await runEpisode(planOf(greetTask(), policy), signal);
  const differences: ReplayDifference[] = [];
  const again = replayPolicy(storedFrom(first), { onDifference: (difference) => differences.push(difference) });
  const second = await runEpisode(planOf(greetTask(), again), signal);
  expect(differences).toEqual([]);
  expect(second.document.outcome).toEqual(first.document.outcome);
  expect(second.document.nodes.filter((node) => node.sampled)).toHaveLength(4);
  const bodies = (record: TrajectoryRecord) =>
    record.document.nodes.filter((node) => node.sampled).map((node) => node.body);
  expect(bodies(second)).toEqual(bodies(first));
});

test("a world that answers otherwise is told by turn, call and what differs", async () => {
  const first = await runEpisode(
    planOf(greetTask(), scriptedPolicy([shell("read /work/seen"), shell("print 2")])),
    signal,
  );
  const differences: ReplayDifference[] = [];
  const again = replayPolicy(storedFrom(first), { onDifference: (difference) => differences.push(difference) });
  const files = [{ path: "/work/seen", bytes: Buffer.from("now it is here"), mode: 0o644 }];
  await runEpisode(planOf(greetTask({ files }), again), signal);
  expect(differences).toMatchObject([
    { turn: 1, call: 0, what: "output" },
    { turn: 1, call: 0, what: "exit code", before: "1", after: "0" },
  ]);
});
