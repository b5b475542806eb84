/**
 * The `performance` template: how fast the agent's program is, between the task's baseline (0) and its reference (1).
 *
 * Under `/tests/TIER/` lie `performance.json` with `call` ("/app/tally.py:total") and `callMs` (processor time of one
 * call, default 5000); `workload.py` with `make(random) -> list of arguments` and `check(args, value) -> bool`; and the
 * folders `baseline/` and `reference/`, each with the product's files as the artifacts have them: `baseline/app/tally.py`
 * for `/app/tally.py`. The workload runs in a verifier sandbox without product code, each contender in a clean subject
 * sandbox of its own. The tier has one entry in the manifest, which passes when every output was right.
 */
import { Failure } from "../core/errors.ts";
import type { Sandbox, SandboxRequest } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { PerformanceRule, Tier } from "../core/task.ts";
import type { GradeRequest, Measure, TestResult, TestStatus } from "../core/verifier.ts";
import { asset } from "./asset.ts";
import {
  type Contender,
  type ContenderName,
  performanceScore,
  type Timing,
  timeContenders,
  type Workload,
} from "./performance-measure.ts";
import { placeFiles } from "./place-files.ts";
import { plainOfCanonical, pythonLiteral } from "./plain.ts";
import { type SubjectDriver, type SubjectReply, startSubjectDriver } from "./subject-driver.ts";
import { gradingRequest, prepareSubject, SUBJECT_ENVIRONMENT } from "./subject-sandbox.ts";
import type { Graded, Template, TemplateInput, TemplateParts } from "./template.ts";

const RULE: PerformanceRule = { repeats: 7, noise: 0.1 };
const CALL_MS = 5_000;
const LOAD_MS = 10_000;
const WORKLOAD_MS = 20_000;
const SHIM = "/run/runner/performance_workload.py";
const NAMES = ["baseline", "reference", "subject"] as const;

/** The `performance` template; see the header for its formula. */
export function performanceTemplate(parts: TemplateParts): Template {
  return async (input, sandboxes) => {
    const graded: Graded[] = [];
    for (const tier of input.spec.tiers) graded.push(await gradeTier({ ...input, tier, parts }, sandboxes));
    return {
      tests: graded.flatMap(({ tests }) => tests),
      sandboxIds: graded.flatMap(({ sandboxIds }) => sandboxIds),
      imageHash: graded[0]?.imageHash ?? "",
      measures: graded.flatMap(({ measures }) => measures ?? []),
    };
  };
}

interface TierInput extends TemplateInput {
  readonly tier: Tier;
  readonly parts: TemplateParts;
}

async function gradeTier(input: TierInput, sandboxes: SandboxPool): Promise<Graded> {
  const { request, tier, parts } = input;
  const call = readCall(input);
  const startedMs = parts.runtime.monotonic();
  const deadline = startedMs + input.gradeMs;
  if (!request.artifacts.files.some((file) => file.path === call.path)) {
    const tests = results(input, 0, { status: "failed", detail: `the file ${call.path} was not made` });
    return { tests, sandboxIds: [], imageHash: "" };
  }
  const claimed = await parts.inTurn(() => claimAll(request, sandboxes));
  const drivers: SubjectDriver[] = [];
  try {
    const trusted = await startWorkload(claimed.workload, input, deadline);
    drivers.push(trusted);
    const contenders: Contender[] = [];
    const loadMs = new Map<ContenderName, number>();
    let timing: Timing | null = null;
    for (const name of NAMES) {
      const loadedFromMs = parts.runtime.monotonic();
      const driver = await startContender(name, claimed[name], input, call, deadline);
      loadMs.set(name, parts.runtime.monotonic() - loadedFromMs);
      drivers.push(driver);
      contenders.push({ name, sandbox: claimed[name], driver });
      if (driver.refusal !== null) timing = { kind: "failed", name, reply: driver.refusal };
    }
    timing ??= await timeContenders(contenders, workloadOf(trusted, input), {
      repeats: (tier.performance ?? RULE).repeats,
      runtime: parts.runtime,
      deadline,
      loadMs,
    });
    const { measure, ...end } = endOf(input, timing);
    return {
      tests: results(input, parts.runtime.monotonic() - startedMs, end),
      sandboxIds: Object.values(claimed).map((sandbox) => sandbox.id),
      imageHash: claimed.subject.info.imageHash,
      measures: measure === null ? [] : [measure],
    };
  } finally {
    await Promise.all(drivers.map((driver) => driver.close()));
    await Promise.all(Object.values(claimed).map((sandbox) => sandbox.destroy()));
  }
}

interface Call {
  readonly path: string;
  readonly entry: string;
  readonly callMs: number;
}

/** What `performance.json` says. Throws `task_invalid` that names it. */
function readCall({ request, spec, tier }: TierInput): Call {
  const { task } = request;
  const path = `/tests/${tier.name}/performance.json`;
  const file = spec.files.find((one) => one.path === path);
  if (file === undefined) throw invalid(task.key, path, 'is missing; it holds {"call": "/app/file.py:function"}');
  const said = parsed(Buffer.from(file.bytes).toString("utf8"));
  if (said === null) throw invalid(task.key, path, "is no JSON object");
  const { call, callMs = CALL_MS, ...others } = said;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined)
    throw invalid(task.key, path, `has the unknown key "${unknown}"; it has "call" and "callMs"`);
  const found = typeof call === "string" ? /^(\/?[^:]+\.py):([A-Za-z_]\w*)$/.exec(call) : null;
  if (found === null) throw invalid(task.key, path, 'needs "call", such as "/app/file.py:function"');
  if (typeof callMs !== "number" || !(callMs >= 1 && callMs <= 600_000)) {
    throw invalid(task.key, path, 'needs a "callMs" of 1 to 600000');
  }
  const [, where = "", entry = ""] = found;
  return { path: where.startsWith("/") ? where : `${task.workdir}/${where}`, entry, callMs };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

type Claimed = Readonly<Record<ContenderName | "workload", Sandbox>>;

/** All four or none; claimed in turn, as gradings that each held some and waited for more would stop each other. */
async function claimAll(request: GradeRequest, sandboxes: SandboxPool): Promise<Claimed> {
  const held: Sandbox[] = [];
  const claim = async (role: "subject" | "verifier", name: string): Promise<Sandbox> => {
    const wanted: SandboxRequest = gradingRequest(request, role);
    // One attempt may have one sandbox of a role; these are four.
    const sandbox = await sandboxes.claim({ ...wanted, attemptId: `${wanted.attemptId}-${name}` }, request.signal);
    held.push(sandbox);
    return sandbox;
  };
  try {
    return {
      workload: await claim("verifier", "workload"),
      baseline: await claim("subject", "baseline"),
      reference: await claim("subject", "reference"),
      subject: await claim("subject", "subject"),
    };
  } catch (error) {
    await Promise.all(held.map((sandbox) => sandbox.destroy()));
    throw error;
  }
}

/** The trusted side. Throws `verifier_crashed` when the workload cannot be loaded. */
async function startWorkload(sandbox: Sandbox, { request, spec, tier, parts }: TierInput, deadline: number) {
  const products = NAMES.map((name) => `/tests/${tier.name}/${name}/`);
  const files = spec.files.filter(({ path }) => !products.some((folder) => path.startsWith(folder)));
  const shim = { path: SHIM, bytes: Buffer.from(asset("performance_workload.py"), "utf8"), mode: 0o644 };
  const placed = [...files, shim].map((file) => ({ ...file, owner: "root" as const, isRequired: true }));
  await placeFiles(sandbox, placed, request.signal);
  return start(
    SHIM,
    "ask",
    { loadMs: LOAD_MS, callMs: WORKLOAD_MS },
    {
      sandbox,
      runtime: parts.runtime,
      cwd: "/",
      envVars: SUBJECT_ENVIRONMENT,
      timeoutMs: deadline - parts.runtime.monotonic() + WORKLOAD_MS,
      signal: request.signal,
      isUsed: false,
    },
  );
}

/** A clean subject sandbox with the task's own product in place of the agent's, or with the agent's. */
async function startContender(
  name: ContenderName,
  sandbox: Sandbox,
  { request, spec, tier, parts }: TierInput,
  { path, entry, callMs }: Call,
  deadline: number,
): Promise<SubjectDriver> {
  const { task, artifacts } = request;
  const files = name === "subject" ? artifacts.files : productOf(spec.files, `/tests/${tier.name}/${name}`);
  if (!files.some((file) => file.path === path)) {
    throw invalid(task.key, `/tests/${tier.name}/${name}${path}`, "is missing; it is what the subject is held against");
  }
  await prepareSubject(sandbox, { ...request, artifacts: { ...artifacts, files } });
  return start(
    path,
    entry,
    { loadMs: LOAD_MS, callMs },
    {
      sandbox,
      runtime: parts.runtime,
      cwd: task.workdir,
      envVars: { ...SUBJECT_ENVIRONMENT, ...task.envVars },
      timeoutMs: deadline - parts.runtime.monotonic() + callMs,
      signal: request.signal,
      isUsed: false,
    },
  );
}

function productOf(files: readonly FileContent[], folder: string): FileContent[] {
  const inside = files.filter((file) => file.path.startsWith(`${folder}/`));
  return inside.map((file) => ({ ...file, path: file.path.slice(folder.length) }));
}

function start(
  source: string,
  entry: string,
  limits: { readonly loadMs: number; readonly callMs: number },
  place: Parameters<typeof startSubjectDriver>[1],
): Promise<SubjectDriver> {
  return startSubjectDriver({ form: "file", source, entry, parameters: [], ...limits }, place);
}

/** Asks the trusted side. What goes wrong there is the task's fault, and a Failure, unless the subject's value caused it. */
function workloadOf(driver: SubjectDriver, { request, tier }: TierInput): Workload {
  const path = `/tests/${tier.name}/workload.py`;
  const ask = async (what: "make" | "check", round: number, ...given: readonly unknown[]): Promise<SubjectReply> => {
    const seed = `${request.gradingSeed}:${tier.name}:${round}`;
    const args = [path, what, seed, ...given].map(pythonLiteral);
    return driver.refusal ?? driver.call(`[${args.join()}]`, "{}");
  };
  const sound = (what: "make" | "check", round: number, reply: SubjectReply): unknown => {
    const value = reply.kind === "value" ? plainOfCanonical(reply.text) : undefined;
    if (value !== undefined) return value;
    const why = reply.kind === "value" ? "gave something that is no plain data, or too large" : reply.detail;
    throw new Failure("verifier_crashed", `${path} of ${request.task.key} could not ${what} round ${round}: ${why}.`);
  };
  return {
    make: async (round) => {
      const args = sound("make", round, await ask("make", round));
      return `[${(Array.isArray(args) ? args : []).map(pythonLiteral).join()}]`;
    },
    check: async (round, text, name) => {
      const value = plainOfCanonical(text);
      // An object that is no plain data is never right, and never shown to the check.
      if (value === undefined) return false;
      const reply = await ask("check", round, value);
      // It could check the task's own contenders: a value made to end it must not end the grading.
      if (name === "subject" && reply.kind !== "value") return false;
      return sound("check", round, reply) === true;
    },
  };
}

interface MeasuredEnd {
  readonly status: TestStatus;
  readonly detail: string;
  readonly measure: Measure | null;
}

/** Throws `verifier_crashed` when baseline or reference fail, or do not differ; `verifier_timeout` when time was too short. */
function endOf(input: TierInput, timing: Timing): MeasuredEnd {
  const { request, tier } = input;
  const where = `/tests/${tier.name} of ${request.task.key}`;
  if (timing.kind === "late" && timing.isSubjectSlow) {
    return { status: "timeout", detail: "took longer than baseline and reference together", measure: null };
  }
  if (timing.kind === "late") {
    throw new Failure(
      "verifier_timeout",
      `The rounds of ${where} did not fit into the time for grading; make them shorter.`,
    );
  }
  if (timing.kind === "failed") {
    const { name, reply } = timing;
    const why = reply.kind === "value" ? "returned a wrong output" : reply.detail;
    if (name !== "subject") throw new Failure("verifier_crashed", `The ${name} in ${where} failed: ${why}.`);
    const status = reply.kind === "value" ? "failed" : reply.kind === "timeout" ? "timeout" : "error";
    return { status, detail: why, measure: null };
  }
  const { baseline, reference, subject } = timing.medians;
  const rule = tier.performance ?? RULE;
  const scored = performanceScore(timing.medians, rule, timing.ratios);
  const told = `baseline ${baseline.toFixed(2)} ms, reference ${reference.toFixed(2)} ms, subject ${subject.toFixed(2)} ms`;
  if (scored === null) {
    throw new Failure("verifier_crashed", `Nothing can be scored in ${where}: its reference is not faster (${told}).`);
  }
  const test = input.spec.manifest.find((entry) => entry.tier === tier.name)?.id ?? tier.name;
  const medians = { baselineMs: baseline, referenceMs: reference, subjectMs: subject };
  return { status: "passed", detail: told, measure: { tier: tier.name, test, ...medians, ...scored } };
}

function results(
  { spec, tier }: TierInput,
  durationMs: number,
  { status, detail }: Pick<MeasuredEnd, "status" | "detail">,
): TestResult[] {
  const entries = spec.manifest.filter((entry) => entry.tier === tier.name);
  return entries.map(({ id }) => ({ id, tier: tier.name, visibility: tier.visibility, status, durationMs, detail }));
}

function invalid(key: string, path: string, what: string): Failure {
  return new Failure("task_invalid", `The task ${key} cannot be graded: ${path} ${what}.`);
}
