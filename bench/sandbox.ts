/**
 * Speed of sandboxes beside its peers: our providers, a container engine through its API alone, the public SWE-ReX server.
 * Contenders take turns in one process; failures count as failures. `node bench/sandbox.ts` prints it as JSON too.
 */
import type { ProviderName } from "../src/app-provider.ts";
import { benchSandboxes, sandboxBenchTable } from "../src/app-sandbox.ts";
import type { Contender } from "../src/sandbox/bench/contender.ts";
import type { SandboxBench } from "../src/sandbox/bench/report.ts";
import { startEngine } from "../test/support/engine-process.ts";
import { engineApiContender } from "./engine-api.ts";
import { prepareSweRex, sweRexContenders } from "./swe-rex.ts";

const SCALE = Number(process.env["SANDLOT_BENCH_SCALE"] ?? "1");

export async function run(): Promise<SandboxBench> {
  const peers: Contender[] = [];
  const absent: { name: string; reason: string }[] = [];
  const providers: ProviderName[] = ["namespace", "bwrap"];
  const engines = [await startEngine("podman"), await startEngine("docker")];
  try {
    for (const { kind, socketPath, reason } of engines) {
      const name = `${kind} API`;
      if (reason === null)
        await attempt(name, absent, async () => void peers.push(await engineApiContender(socketPath, name)));
      else absent.push({ name, reason });
      if (reason === null) providers.push(kind);
    }
    await attempt("SWE-ReX", absent, async () => void peers.push(...sweRexContenders(await prepareSweRex())));
    const result = await benchSandboxes({
      image: "host",
      providers,
      sockets: Object.fromEntries(engines.map(({ kind, socketPath }) => [kind, socketPath])),
      peers,
      absent,
      scale: SCALE,
      onStep: (step) => console.error(step),
    });
    console.log(sandboxBenchTable(result));
    return result;
  } finally {
    for (const engine of engines) await engine.stop();
  }
}

async function attempt(
  name: string,
  absent: { name: string; reason: string }[],
  add: () => Promise<void>,
): Promise<void> {
  try {
    await add();
  } catch (error) {
    absent.push({ name, reason: error instanceof Error ? error.message : String(error) });
  }
}

if (import.meta.main) console.log(JSON.stringify(await run()));
