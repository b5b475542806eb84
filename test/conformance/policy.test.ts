/** Every shipped policy passes the suite: those that run a script, one behind an endpoint, and the embedded one. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Policy } from "../../src/core/policy.ts";
import { createEpisodeRunner } from "../../src/episode/run-episode.ts";
import { embeddedBackend } from "../../src/policy/embedded/backend.ts";
import { nopPolicy } from "../../src/policy/nop.ts";
import { openaiPolicy } from "../../src/policy/openai.ts";
import { scriptPolicy } from "../../src/policy/oracle.ts";
import { plainRenderer } from "../../src/policy/renderer/plain.ts";
import { replayPolicy } from "../../src/policy/replay.ts";
import { sampledPolicy } from "../../src/policy/sampled.ts";
import { scriptAction, scriptCall } from "../../src/policy/script-action.ts";
import { scriptedPolicy } from "../../src/policy/scripted.ts";
import { bytesTokenizer } from "../../src/policy/tokenizer.ts";
import { shellTool } from "../../src/policy/tool/shell.ts";
import { submitTool } from "../../src/policy/tool/submit.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { greets, greetTask, memory, planOf, ruleVerifier } from "../support/episode-parts.ts";
import { openaiServer } from "../support/openai-server.ts";
import { tinyPool } from "../support/tiny-sandbox.ts";
import { policyConformance } from "./policy.ts";

const runtime = systemRuntime();
const script = (policy: Policy) => async () => ({ policy, samplesTokens: false, close: async () => undefined });

policyConformance("oracle", script(scriptPolicy(greetTask().oracle)));
policyConformance("nop", script(nopPolicy()));
policyConformance("scripted", script(scriptedPolicy([scriptAction([scriptCall(0, "submit", {})])])));

policyConformance("replay", async () => {
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
  const plan = planOf(greetTask(), scriptPolicy(greetTask().oracle));
  const { document, bodies } = await runEpisode(plan, new AbortController().signal);
  const policy = replayPolicy({ document, body: async (hash) => bodies.get(hash) ?? new Uint8Array() });
  return { policy, samplesTokens: false, close: async () => undefined };
});

policyConformance("openai", async () => {
  const server = await openaiServer([
    { kind: "reply", reply: { text: "a", calls: [{ name: "submit", arguments: "{}" }] } },
  ]);
  const options = { model: "scripted", baseUrl: server.baseUrl, keyVariable: null, temperature: 1, runtime };
  return { policy: openaiPolicy(options), samplesTokens: false, close: server.close };
});

policyConformance("embedded", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-policy-"));
  const tokenizer = bytesTokenizer();
  const options = { shape: "nano", tokenizer, seed: 1n, threads: 1, checkpointFolder: folder, runtime } as const;
  const backend = await embeddedBackend(options);
  const snapshot = await backend.trainer?.snapshot(1);
  if (snapshot === undefined) throw new Error("the embedded backend trains");
  const policy = sampledPolicy({
    sampler: backend.sampler,
    snapshot: () => snapshot,
    renderer: plainRenderer({ tokenizer, isBare: true }),
    temperature: 1,
    tokensMax: 8,
    contextMax: 64,
    name: "embedded-nano",
  });
  const close = async (): Promise<void> => {
    await backend.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { policy, samplesTokens: true, close };
});
