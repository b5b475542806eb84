/**
 * The sandbox in which the agent's program runs again for grading: the clean task image, the task's own files and
 * set-up, and in place of what the contract collects, exactly the artifacts the agent left.
 */
import { Failure } from "../core/errors.ts";
import { healthcheckCommand } from "../core/healthcheck.ts";
import type { Sandbox, SandboxLimits, SandboxRequest } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { Task } from "../core/task.ts";
import type { GradeRequest } from "../core/verifier.ts";
import { isCleanPath, type PlacedFile, placeFiles } from "./place-files.ts";

/** Variables of every graded command, below the task's own; programs are found where the agent finds them. */
export const SUBJECT_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
  TZ: "UTC",
  HOME: "/nonexistent",
};

const SETUP_MS = 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024;
/** What the sandbox outlives its grading by: creation and clean-up. */
const LIFETIME_MARGIN_MS = 60_000;
const DISK_MARGIN_BYTES = 64 * 1024 * 1024;
const FILES_MARGIN = 1_000;

/** Makes a clean subject sandbox ready. Throws sandbox failures, and `verifier_crashed` when the set-up fails. */
export async function prepareSubject(sandbox: Sandbox, grade: GradeRequest): Promise<void> {
  const { task, artifacts } = grade;
  const made = await sandbox.files.mkdir(task.workdir, { user: "subject" });
  if (!made.ok) await asRoot(sandbox, "/", `mkdir -p -- ${quoted(task.workdir)}`, grade);
  await placeFiles(sandbox, owned(task, task.files, true), grade.signal);
  if (task.setup !== null) await asRoot(sandbox, task.workdir, task.setup, grade);
  if (task.healthcheck !== undefined) {
    const { argv, timeoutMs } = healthcheckCommand(task.healthcheck);
    await asRoot(sandbox, task.workdir, argv, grade, timeoutMs);
  }
  const cleared = await clearing(sandbox, task);
  if (cleared !== "") await asRoot(sandbox, "/", cleared, grade);
  await placeFiles(sandbox, owned(task, artifacts.files, false), grade.signal);
  await asRoot(sandbox, "/", `chown -hR subject: -- ${quoted(task.workdir)}`, grade);
}

/** Makes a file of the prepared sandbox one that the subject can run, and neither change nor replace. */
export async function sealFile(sandbox: Sandbox, path: string, grade: GradeRequest): Promise<void> {
  const { workdir } = grade.task;
  const folder = path.slice(0, path.lastIndexOf("/")) || "/";
  // Folders outside the work folder are the image's own and not the subject's.
  const isOwn = `${folder}/`.startsWith(`${workdir.replace(/\/$/, "")}/`);
  const owned = isOwn ? `chown root: -- ${quoted(folder)} && chmod 755 -- ${quoted(folder)} && ` : "";
  await asRoot(sandbox, "/", `${owned}chown root: -- ${quoted(path)} && chmod 555 -- ${quoted(path)}`, grade);
}

/** As in the agent's sandbox: what lies in the work folder belongs to who runs there, anything else to root. */
function owned(task: Task, files: readonly FileContent[], isRequired: boolean): PlacedFile[] {
  const workdir = `${task.workdir.replace(/\/$/, "")}/`;
  return files.map((file) => ({ ...file, owner: file.path.startsWith(workdir) ? "subject" : "root", isRequired }));
}

/** What both sandboxes of a grading have in common: the task's image and resources, no network, no variables. */
export function gradingRequest(grade: GradeRequest, role: "subject" | "verifier"): SandboxRequest {
  const { task } = grade;
  return {
    attemptId: grade.attemptId,
    role,
    fence: grade.fence,
    image: task.image,
    isolationMin: "namespace",
    limits: withRoomForArtifacts(task),
    network: { mode: "off" },
    envVars: {},
    labels: {},
    lifetimeMs: task.limits.gradeMs + LIFETIME_MARGIN_MS,
  };
}

/**
 * The task's own limits, and beside them room for the artifacts: what was sparse or packed in the agent's sandbox takes
 * its full size here, and must not make a grading fail.
 */
function withRoomForArtifacts({ resources, contract }: Task): SandboxLimits {
  return {
    ...resources,
    memoryBytes: resources.memoryBytes + contract.bytesMax,
    diskBytes: resources.diskBytes + contract.bytesMax + DISK_MARGIN_BYTES,
    filesMax: resources.filesMax + 2 * contract.entriesMax + FILES_MARGIN,
  };
}

/** Removes the files that the contract collects, so that one the agent deleted stays deleted; folders stay. */
async function clearing(sandbox: Sandbox, task: Task): Promise<string> {
  if (task.contract.state === "answer") return "";
  const roots = task.contract.state === "workdir" ? [task.workdir] : task.contract.files.map((rule) => rule.path);
  const there = await Promise.all(
    roots.filter(isCleanPath).map(async (root) => ((await isThere(sandbox, root)) ? [root] : [])),
  );
  return there
    .flat()
    .map((root) => `if [ -e ${quoted(root)} ]; then find ${quoted(root)} ! -type d -delete; fi`)
    .join("; ");
}

/** What the helper will not look at, such as a path behind a link, may be there. */
async function isThere(sandbox: Sandbox, path: string): Promise<boolean> {
  const found = await sandbox.files.stat(path);
  return found.ok || found.error !== "missing";
}

async function asRoot(
  sandbox: Sandbox,
  cwd: string,
  command: string | readonly string[],
  grade: GradeRequest,
  timeoutMs = Math.max(SETUP_MS, grade.task.limits.commandMs),
): Promise<void> {
  const result = await sandbox.exec(command, {
    user: "root",
    cwd,
    envVars: { ...SUBJECT_ENVIRONMENT, ...grade.task.envVars },
    timeoutMs,
    outputBytesMax: OUTPUT_BYTES_MAX,
    signal: grade.signal,
  });
  if (result.exitCode === 0) return;
  if (grade.signal.aborted) {
    throw new Failure("cancelled", "The grading was cancelled.", { cause: grade.signal.reason });
  }
  const said = Buffer.from(result.stderr).toString("utf8").slice(-400);
  throw new Failure("verifier_crashed", `The subject sandbox could not be prepared (${result.verdict}): ${said}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
