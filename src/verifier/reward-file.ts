/**
 * The `reward-file` template: a `test.sh` of an imported task, which writes its own reward to `/logs/verifier`.
 *
 * It runs in the clean image of the task with the artifacts at their own places, and may run the product beside itself;
 * that is the declared risk of such tasks. A trusted parent of another user runs it (`python/reward_file.py`), ends all it
 * started, and only then takes the files. What they say is the script's claim; what is wrong with them is a fault.
 */
import { Failure, type FailureCode } from "../core/errors.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { Task, TestsVerifierSpec, Tier } from "../core/task.ts";
import type { TestResult } from "../core/verifier.ts";
import { asset } from "./asset.ts";
import { type PlacedFile, placeFiles } from "./place-files.ts";
import { type RewardFiles, type RewardValues, rewardValues } from "./reward-values.ts";
import { prepareSubject, SUBJECT_ENVIRONMENT } from "./subject-sandbox.ts";
import type { RewardFileScore, Template, TemplateInput, TemplateParts } from "./template.ts";
import { verifierRequest } from "./test-files.ts";

const FOLDER = "/logs/verifier";
const VERIFIER_ID = 1001;
const PREPARE_MS = 60_000;
const LOG_BYTES_MAX = 1024 * 1024;
const REPORT_BYTES_MAX = 1024 * 1024;
const DETAIL_CHARACTERS_MAX = 2_048;
const SOLVED = 1 - 1e-9;
/** Where programs, libraries, start-up files and the grading itself live. */
const TRUSTED_FOLDERS = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "root", "run", "tests"];
/** Variables that make a shell or a loader run what they name. */
const HOOKS = /^(?:BASH_ENV|ENV|PROMPT_COMMAND|BASHOPTS|SHELLOPTS|PS4|BASH_FUNC_.*|LD_.*|GLIBC_.*|GCONV_PATH)$/;

/** Throws `task_invalid`, the `reward_…` codes, `verifier_timeout`, `verifier_crashed`, sandbox failures. */
export function rewardFileTemplate({ runtime }: TemplateParts): Template {
  return async (input, sandboxes) => {
    refuseTrusted(input.request.task);
    const endMs = runtime.monotonic() + input.gradeMs;
    const graded: { readonly score: RewardFileScore; readonly test: TestResult; readonly sandbox: Sandbox }[] = [];
    for (const tier of input.spec.tiers) {
      const gradeMs = Math.max(1_000, endMs - runtime.monotonic());
      graded.push(await gradeTier({ ...input, gradeMs }, tier, sandboxes, runtime.monotonic));
    }
    return {
      tests: graded.map(({ test }) => test),
      rewardFiles: graded.map(({ score }) => score),
      sandboxIds: graded.map(({ sandbox }) => sandbox.id),
      imageHash: graded[0]?.sandbox.info.imageHash ?? "",
    };
  };
}

/** Nothing the agent made may stand where the script finds its programs, its start-up files or its reward. */
function refuseTrusted({ key, contract, workdir }: Task): void {
  const roots = contract.state === "workdir" ? [workdir] : contract.files.map((rule) => rule.path);
  const [refused] = contract.state === "answer" ? [] : roots.filter(isTrusted);
  if (refused === undefined) return;
  throw new Failure(
    "task_invalid",
    `task.toml of ${key}: the contract collects ${refused}, where a reward-file tier keeps what it trusts; collect a file or folder outside of /usr, /etc and the like, or use another runner.`,
  );
}

function isTrusted(path: string): boolean {
  const [first = "", second] = path.split("/").filter((part) => part !== "");
  return first === "" || TRUSTED_FOLDERS.includes(first) || (first === "logs" && (second ?? "verifier") === "verifier");
}

async function gradeTier(input: TemplateInput, tier: Tier, sandboxes: SandboxPool, monotonic: () => number) {
  const { request, spec } = input;
  const entries = spec.manifest.filter((entry) => entry.tier === tier.name);
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    const message = `The tier "${tier.name}" of ${request.task.key} has ${entries.length} scripts that write a reward; it needs one, tests/${tier.name}/test.sh.`;
    throw new Failure("task_invalid", message);
  }
  const startedMs = monotonic();
  const sandbox = await sandboxes.claim(verifierRequest(request), request.signal);
  try {
    await prepare(sandbox, input, tier);
    const gradeMs = Math.max(1_000, input.gradeMs - (monotonic() - startedMs));
    const ran = await runScript(sandbox, { ...input, gradeMs }, `/tests/${entry.id}`);
    const script = `tests/${entry.id} of ${request.task.key}`;
    const values = valuesOf(ran, script, tier, input);
    const said = Object.entries(values.values).map(([key, value]) => `${key} = ${value}`);
    const detail = [said.join(", "), ran.said].join("\n").trim().slice(0, DETAIL_CHARACTERS_MAX);
    const status = values.total >= SOLVED ? ("passed" as const) : ("failed" as const);
    const durationMs = monotonic() - startedMs;
    const test = { id: entry.id, tier: tier.name, visibility: tier.visibility, status, durationMs, detail };
    return { score: { tier: tier.name, ...values }, test, sandbox };
  } finally {
    await sandbox.destroy();
  }
}

/** Artifacts first, so that nothing of theirs stands in the place of a test. */
async function prepare(sandbox: Sandbox, { request, spec }: TemplateInput, tier: Tier): Promise<void> {
  await prepareSubject(sandbox, request);
  await placeFiles(sandbox, testFiles(spec, tier), request.signal);
  const { workdir } = request.task;
  const result = await sandbox.exec(["/bin/chown", "-hR", "verifier:", "--", workdir], {
    user: "root",
    timeoutMs: PREPARE_MS,
    outputBytesMax: 4_096,
    signal: request.signal,
  });
  if (result.exitCode === 0 || request.signal.aborted) return;
  throw new Failure("verifier_crashed", `${workdir} could not be given to the script (${result.verdict}).`);
}

/** As written, and those of the tier beside the others too: an imported script names them so, `/tests/test_outputs.py`. */
function testFiles(spec: TestsVerifierSpec, tier: Tier): PlacedFile[] {
  const folder = `/tests/${tier.name}/`;
  const copies = spec.files.filter(({ path }) => path.startsWith(folder));
  const moved = copies.map((file) => ({ ...file, path: `/tests/${file.path.slice(folder.length)}` }));
  return [...moved, ...spec.files].map((file) => ({ ...file, owner: "root", isRequired: true }));
}

interface Ran {
  readonly before: string | null;
  readonly code: number;
  readonly isLate: boolean;
  readonly files: RewardFiles;
  /** The end of what it printed. */
  readonly said: string;
}

async function runScript(sandbox: Sandbox, { request, spec, gradeMs }: TemplateInput, script: string): Promise<Ran> {
  const { task, signal } = request;
  const settings = {
    script,
    folder: FOLDER,
    uid: VERIFIER_ID,
    cwd: task.workdir,
    envVars: scriptEnvironment(task, spec),
    // Ends well before the hard limit, so that a reward that was written by then is kept.
    seconds: Math.max(gradeMs * 0.6, gradeMs - 10_000) / 1_000,
  };
  const report: Uint8Array[] = [];
  let reportBytes = 0;
  const result = await sandbox.exec(["/usr/bin/python3", "-I", "-S", "-E", "-B", "-c", asset("reward_file.py")], {
    user: "root",
    cwd: "/",
    envVars: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC" },
    input: Buffer.from(JSON.stringify(settings), "utf8"),
    timeoutMs: gradeMs,
    outputBytesMax: LOG_BYTES_MAX,
    descendants: "kill",
    signal,
    pipes: [
      {
        fd: 3,
        onBytes: (bytes) => {
          reportBytes += bytes.length;
          if (reportBytes <= REPORT_BYTES_MAX) report.push(bytes.slice());
        },
      },
    ],
  });
  if (signal.aborted) throw new Failure("cancelled", "The grading was cancelled.", { cause: signal.reason });
  const said = [result.stdout, result.stderr]
    .map((bytes) => Buffer.from(bytes).toString("utf8").slice(-700))
    .join("\n");
  if (result.exitCode !== 0 || reportBytes > REPORT_BYTES_MAX) {
    const code: FailureCode = result.timedOut ? "verifier_timeout" : "verifier_crashed";
    throw new Failure(
      code,
      `The run of ${script.slice(1)} of ${task.key} broke down (${result.verdict}): ${said.slice(-600)}`,
    );
  }
  return { ...(JSON.parse(Buffer.concat(report).toString("utf8")) as Omit<Ran, "said">), said: said.trim() };
}

function scriptEnvironment(task: Task, spec: TestsVerifierSpec): Readonly<Record<string, string>> {
  const own = Object.entries({ ...task.envVars, ...spec.envVars }).filter(([name]) => !HOOKS.test(name));
  return { ...SUBJECT_ENVIRONMENT, ...Object.fromEntries(own) };
}

/** A reward that was written before the time ran out is kept. */
function valuesOf(ran: Ran, script: string, tier: Tier, { gradeMs }: TemplateInput): RewardValues {
  if (ran.before !== null) {
    const message = `${script} was not believed: ${ran.before}. See the image and the set-up of the task.`;
    throw new Failure("reward_unreadable", message);
  }
  const isAbsent = ran.files["reward.txt"] === null && ran.files["reward.json"] === null;
  if (isAbsent && ran.isLate) {
    const message = `${script} wrote no reward within the ${Math.round(gradeMs)} ms of a grading. ${ran.said.slice(-300)}`;
    throw new Failure("verifier_timeout", message);
  }
  const how = isAbsent ? `${script}, which ended with ${ran.code} (${ran.said.slice(-300)}),` : script;
  return rewardValues(ran.files, { script: how, isMean: tier.isRewardMean === true });
}
