/**
 * One case of the sandbox suite and what it is run with. A case knows no test runner: `runCase` runs it once against a
 * provider and says how it ended, so the suite itself can be tested with planted faults. Every sandbox a case makes is
 * destroyed after it, and the leak check that follows is part of the case.
 */
import type { Sandbox, SandboxProvider, SandboxRequest } from "../../src/core/sandbox.ts";

/** Longest wait for one event; a case never asserts a time. */
export const EVENT_MS = 10_000;

export interface ConformanceCase {
  /** Of the sandbox design's list, 1 to 68; above it stand the parts of the contract which that list presumes. */
  readonly number: number;
  /** Tells the cases of one number apart: `b`, `c`, … */
  readonly part?: string;
  /** What a user cares about, as a claim. */
  readonly title: string;
  /** What this case asks for beyond the usual request. */
  readonly request?: Partial<SandboxRequest>;
  /** Throws when the provider does not keep the case. */
  run(context: CaseContext): Promise<void>;
}

export interface CaseContext {
  /** What `create` asks for: the usual request, changed by the provider's options and by the case. */
  readonly request: SandboxRequest;
  provider(): SandboxProvider;
  /** A fresh sandbox, destroyed at the end of the case at the latest. */
  create(change?: Partial<SandboxRequest>): Promise<Sandbox>;
  /** Runs `use` with a fresh sandbox and destroys it. */
  with<T>(use: (sandbox: Sandbox) => Promise<T>, change?: Partial<SandboxRequest>): Promise<T>;
  /** Waits for an event, at most `EVENT_MS`; throws naming it. */
  until(event: string, isThere: () => boolean | Promise<boolean>): Promise<void>;
  /** For what this machine lacks, whatever the provider: the case is shown as skipped, with this reason. */
  skip(reason: string): never;
}

/** Looks at what is there before the first case; the function it gives is called after each and throws what is left. */
export type LeakCheck = (provider: SandboxProvider, request: SandboxRequest) => Promise<() => Promise<void>>;

export type CaseOutcome =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "skipped"; readonly reason: string };

export interface CaseSettings {
  readonly provider: SandboxProvider;
  readonly request: SandboxRequest;
  /** What a `LeakCheck` gave. */
  readonly expectNoLeaks: () => Promise<void>;
  /** Default `EVENT_MS`; less where an event is known not to come. */
  readonly eventMs?: number;
}

class CaseSkipped extends Error {
  override readonly name = "CaseSkipped";
}

/** `48b. title`. */
export function caseTitle({ number, part, title }: ConformanceCase): string {
  return `${number}${part ?? ""}. ${title}`;
}

/** Runs one case once. Never throws. */
export async function runCase(one: ConformanceCase, settings: CaseSettings): Promise<CaseOutcome> {
  const made: Sandbox[] = [];
  const outcomeOf = (work: () => Promise<void>): Promise<CaseOutcome> => work().then(() => ({ kind: "passed" }), ended);
  const ran = await outcomeOf(() => one.run(caseContext(one, settings, made)));
  const cleared = await outcomeOf(async () => {
    await Promise.all(made.map((sandbox) => sandbox.destroy()));
    /* A case that failed half-way may have left forks; the next case must not pay for them. */
    if (ran.kind === "failed") for (const { id } of await settings.provider.list()) await settings.provider.destroy(id);
    await settings.expectNoLeaks();
  });
  return ran.kind === "failed" || cleared.kind === "passed" ? ran : cleared;
}

/**
 * Runs the cases of a number a provider says it does not keep: one that fails proves it. When all pass, that is the
 * failure: the list is out of date.
 */
export async function runUnsupported(parts: readonly ConformanceCase[], settings: CaseSettings): Promise<CaseOutcome> {
  let skipped: CaseOutcome | null = null;
  for (const one of parts) {
    const outcome = await runCase(one, settings);
    if (outcome.kind === "failed") return { kind: "passed" };
    if (outcome.kind === "skipped") skipped ??= outcome;
  }
  if (skipped !== null) return skipped;
  const titles = parts.map(caseTitle).join(" | ");
  const error = new Error(`Newly passing: ${titles}. Take the number out of capabilities.unsupported.`);
  return { kind: "failed", error };
}

function ended(error: unknown): CaseOutcome {
  return error instanceof CaseSkipped ? { kind: "skipped", reason: error.message } : { kind: "failed", error };
}

function caseContext(one: ConformanceCase, settings: CaseSettings, made: Sandbox[]): CaseContext {
  const { provider, eventMs = EVENT_MS } = settings;
  const request = { ...settings.request, ...one.request };
  const create = async (change: Partial<SandboxRequest> = {}): Promise<Sandbox> => {
    const sandbox = await provider.create({ ...request, ...change }, new AbortController().signal);
    made.push(sandbox);
    return sandbox;
  };
  return {
    request,
    provider: () => provider,
    create,
    with: async (use, change) => {
      const sandbox = await create(change);
      try {
        return await use(sandbox);
      } finally {
        await sandbox.destroy();
      }
    },
    until: (event, isThere) => until(event, isThere, eventMs),
    skip: (reason) => {
      throw new CaseSkipped(reason);
    },
  };
}

async function until(event: string, isThere: () => boolean | Promise<boolean>, eventMs: number): Promise<void> {
  const end = performance.now() + eventMs;
  while (!(await isThere())) {
    if (performance.now() > end) throw new Error(`Waited ${eventMs} ms in vain: ${event}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
