/**
 * Sandboxes by hand: a person in a fresh one, and their speed on this machine.
 */
import { availableParallelism, constants } from "node:os";
import { runtime } from "./app-parts.ts";
import { openProvider, PROVIDERS, type ProviderName } from "./app-provider.ts";
import { Failure } from "./core/errors.ts";
import type { TerminalSize } from "./core/exec.ts";
import type { NetworkPolicy, Sandbox, SandboxProvider, SandboxRequest, SweepReport } from "./core/sandbox.ts";
import type { StoredTrajectory } from "./core/store.ts";
import { type BenchBox, type Contender, providerContender, requestFor } from "./sandbox/bench/contender.ts";
import { interleaved, type Once, type Quantity } from "./sandbox/bench/measure.ts";
import { ownFigures } from "./sandbox/bench/own-figures.ts";
import { loadNow, machineOf, ratiosOf, type SandboxBench, tableOf } from "./sandbox/bench/report.ts";
import { openImageStore } from "./sandbox/image/image-store.ts";

export { PROVIDERS };

export interface ShellRequest {
  readonly image: string;
  readonly provider: ProviderName;
  readonly network: NetworkPolicy;
  readonly user: string;
  readonly limits: SandboxRequest["limits"];
  readonly command: readonly string[];
}

/** A person's terminal: bytes both ways and its size. */
export interface Terminal {
  readonly size: TerminalSize | null;
  readonly input: AsyncIterable<Uint8Array>;
  write(stream: "stdout" | "stderr", bytes: Uint8Array): void;
  onResize(tell: (size: TerminalSize) => void): void;
  /** The shell is about to have the terminal. */
  attached(sandbox: Sandbox): void;
}

const DAY_MS = 24 * 3_600_000;

/**
 * Puts a person into a fresh sandbox, where its image's maker wants commands to run, and destroys it after. Gives the
 * command's exit code: of one that a signal ended 128 and the signal's number, and of one that was cut off 137.
 */
export async function enterSandbox(request: ShellRequest, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const images = openImageStore({ runtime });
  const provider = openProvider(request.provider, { runtime, images });
  try {
    const sandbox = await provider.create(
      {
        attemptId: `shell-${runtime.id()}`,
        role: "agent",
        fence: 0,
        image: request.image,
        isolationMin: "process",
        limits: request.limits,
        network: request.network,
        envVars: { TERM: process.env["TERM"] ?? "xterm" },
        labels: {},
        lifetimeMs: DAY_MS,
      },
      signal,
    );
    terminal.attached(sandbox);
    const { size } = terminal;
    const running = await sandbox.start(request.command, {
      user: request.user,
      input: "open",
      timeoutMs: DAY_MS,
      outputBytesMax: Number.MAX_SAFE_INTEGER,
      onOutput: (stream, bytes) => terminal.write(stream, bytes),
      signal,
      ...(size === null ? {} : { pty: size }),
    });
    terminal.onResize((to) => running.resize(to));
    void feed(terminal.input, running).catch(() => running.closeInput());
    const result = await running.result;
    if (result.startError !== null) {
      throw new Failure(
        "not_found",
        `${request.command[0] === "" ? '""' : request.command.join(" ")} could not start in image "${request.image}": ${result.startError}.`,
      );
    }
    return result.exitCode ?? 128 + signalNumber(result.signal ?? "SIGKILL");
  } finally {
    await provider.close();
    await images.close();
  }
}

function signalNumber(wanted: string): number {
  return Object.entries(constants.signals).find(([name]) => name === wanted)?.[1] ?? 0;
}

/**
 * Puts a person into a sandbox with the files an episode had after `turn`, or after the last turn that was kept. Throws
 * `not_found` when the record keeps none.
 */
export async function forkedEpisode(
  stored: StoredTrajectory,
  turn: number | null,
  what: Pick<ShellRequest, "user" | "command">,
  terminal: Terminal,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<number> {
  const { document } = stored;
  const { sandbox } = document;
  const kept = document.turns.filter(({ layerBlob }) => (layerBlob ?? null) !== null);
  const chosen = turn === null ? kept.at(-1) : kept.find(({ index }) => index === turn);
  const layerBlob = chosen?.layerBlob ?? null;
  if (sandbox === null || chosen === undefined || layerBlob === null) {
    const turns = kept.map(({ index }) => index).join(", ");
    const remedy =
      kept.length > 0
        ? `It keeps those after turns ${turns}.`
        : 'Keep them with sandbox.snapshots = "turns" in the recipe, or evaluate --snapshots turns.';
    throw new Failure(
      "not_found",
      `Episode ${document.id} keeps no files of ${turn === null ? "any turn" : `turn ${turn}`}. ${remedy}`,
    );
  }
  const images = openImageStore({ runtime });
  try {
    const base = await images.resolve(sandbox.image, { signal });
    if (base.hash !== sandbox.imageHash)
      say(`Image "${sandbox.image}" has changed since the episode; its files lie on the image as it is now.`);
    const bytes = await stored.body(layerBlob);
    const { hash } = await images.derive(base, oneChunk(bytes));
    say(`Episode ${document.id} after turn ${chosen.index}.`);
    const request = {
      ...what,
      image: `sha256:${hash}`,
      provider: "namespace",
      network: { mode: "off" },
      limits: sandbox.limits,
    } as const;
    return await enterSandbox(request, terminal, signal);
  } finally {
    await images.close();
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function feed(
  input: AsyncIterable<Uint8Array>,
  to: { write(bytes: Uint8Array): Promise<void>; closeInput(): void },
): Promise<void> {
  for await (const chunk of input) await to.write(chunk);
  to.closeInput();
}

/** Removes what dead owners of sandboxes left on this machine, or in this engine, and nothing of a live one. */
export async function sweepSandboxes(name: ProviderName): Promise<SweepReport> {
  const images = openImageStore({ runtime });
  const provider = openProvider(name, { runtime, images });
  try {
    return await provider.sweep();
  } finally {
    await provider.close();
    await images.close();
  }
}

export interface SandboxBenchOptions {
  readonly image: string;
  /** Providers measured whole; the first is the one others are compared with. */
  readonly providers: readonly ProviderName[];
  /** Sockets of engines that do not listen where they usually do. */
  readonly sockets?: Readonly<Partial<Record<ProviderName, string>>>;
  /** Peers that only create and exec, by their own code. */
  readonly peers: readonly Contender[];
  readonly absent: SandboxBench["absent"];
  /** Multiplies every count; 1 is what is published. */
  readonly scale: number;
  readonly onStep: (step: string) => void;
}

const COLD_ROUNDS = 30;
const EXEC_ROUNDS = 300;
const COLD = "cold create to first exec answered";
const EXEC = "exec of a no-op";

/** Contenders take turns round by round; then each of our providers shows what only it has. */
export async function benchSandboxes(options: SandboxBenchOptions): Promise<SandboxBench> {
  const { image, scale, onStep } = options;
  const loadAverageBefore = loadNow();
  const absent = [...options.absent];
  const images = openImageStore({ runtime });
  const providers: { readonly name: ProviderName; readonly provider: SandboxProvider }[] = [];
  try {
    for (const name of options.providers) {
      const provider = openProvider(name, { runtime, images, socketPath: options.sockets?.[name] });
      providers.push({ name, provider });
      const refusal = await firstRefusal(provider, image);
      if (refusal === null) continue;
      absent.push({ name, reason: refusal });
      providers.pop();
      await provider.close();
    }
    if (providers.length === 0 && options.peers.length === 0) {
      const reasons = absent.map(({ name, reason }) => `${name}: ${reason}`).join(" ");
      throw new Failure("environment_missing", `None of the sandboxes asked for can be measured here. ${reasons}`);
    }
    const ours = providers.map(({ name, provider }) => providerContender(provider, name, image, "this Sandlot"));
    const contenders = [...ours, ...options.peers];
    const quantities: Quantity[] = [];
    onStep("cold creates, in turn");
    quantities.push(...(await coldCreates(contenders, Math.max(2, Math.round(COLD_ROUNDS * scale)))));
    onStep("execs, in turn");
    quantities.push(...(await execs(contenders, Math.max(2, Math.round(EXEC_ROUNDS * scale)))));
    const figures = [];
    for (const { name, provider } of providers) {
      onStep(`what ${name} alone does`);
      /* The others take long, or much memory: a thousand of each say no more than twenty. */
      const isSlow = name !== "namespace";
      const own = await ownFigures({
        runtime,
        name,
        provider,
        request: requestFor(image),
        scale: isSlow ? scale * 0.02 : scale,
        cores: availableParallelism(),
      });
      quantities.push(...own.quantities);
      figures.push(...own.figures);
    }
    return {
      machine: machineOf(),
      loadAverageBefore,
      loadAverageAfter: loadNow(),
      contenders: contenders.map(({ name, version }) => ({ name, version })),
      absent,
      quantities,
      figures,
      ratios: ratiosOf(quantities, [COLD, EXEC]),
    };
  } finally {
    await Promise.all(providers.map(({ provider }) => provider.close()));
    await images.close();
  }
}

export const sandboxBenchTable = tableOf;

/** Why a provider cannot take part, or null. */
async function firstRefusal(provider: SandboxProvider, image: string): Promise<string | null> {
  try {
    await (await provider.create(requestFor(image), new AbortController().signal)).destroy();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function coldCreates(contenders: readonly Contender[], rounds: number): Promise<Quantity[]> {
  const once =
    (contender: Contender): Once =>
    async () => {
      const startedAt = runtime.monotonic();
      const box = await contender.create();
      const taken = runtime.monotonic() - startedAt;
      await box.destroy();
      return taken;
    };
  return interleaved(runtime, COLD, rounds, Object.fromEntries(contenders.map((each) => [each.name, once(each)])));
}

async function execs(contenders: readonly Contender[], rounds: number): Promise<Quantity[]> {
  const boxes: { readonly name: string; readonly box: BenchBox }[] = [];
  for (const { name, create } of contenders) {
    /* One that cannot create has told so among the cold creates. */
    const box = await create().catch(() => null);
    if (box !== null) boxes.push({ name, box });
  }
  try {
    const once = Object.fromEntries(
      boxes.map(({ name, box }): [string, Once] => [name, () => box.execNothing().then(() => null)]),
    );
    return await interleaved(runtime, EXEC, rounds, once);
  } finally {
    await Promise.all(boxes.map(({ box }) => box.destroy()));
  }
}
