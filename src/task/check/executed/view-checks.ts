/**
 * Checks 2, 19, 20, 23, 43 and 45: what an agent finds in its sandbox before its first turn. All look at one opened as an
 * episode opens it, from within, with the task's own set-up done.
 */
import { createHash } from "node:crypto";
import { toFailure } from "../../../core/errors.ts";
import type { ExecResult } from "../../../core/exec.ts";
import type { Sandbox } from "../../../core/sandbox.ts";
import { defineCheck } from "../catalogue.ts";
import type { Check, CheckContext, Finding } from "../check-contract.ts";

/** Folders an image or a set-up may have left something in; the system's own are the image's, and large. */
const PLACES = "/app /visible /tmp /var/tmp /root /home /etc /opt /srv /run /data /mnt /work";
const COMMAND = { timeoutMs: 60_000, outputBytesMax: 4 * 2 ** 20 };
const SMALL_BYTES = 64;

export const VIEW_CHECKS: readonly Check[] = [
  defineCheck("image-builds", imageBuilds),
  defineCheck("hidden-absent", (context) => filesAbsent(context, /^tests\//, "hidden test")),
  defineCheck("answers-absent", (context) => filesAbsent(context, /^(?:solution|wrong)\//, "solution")),
  defineCheck("history-clean", historyClean),
  defineCheck("least-privilege", leastPrivilege),
  defineCheck("no-residue", noResidue),
];

/** Check 2: a sandbox on the image can be opened and set up. */
async function imageBuilds(context: CheckContext): Promise<Finding> {
  const { image } = context.task;
  if (image === "host") return { status: "skip", evidence: "the base host is the machine's own and is not built" };
  let hash: string;
  try {
    hash = await context.withAgentSandbox(async (sandbox) => sandbox.info.imageHash);
  } catch (error) {
    const { code, message } = toFailure(error);
    if (code !== "image_unavailable" && code !== "task_invalid") throw error;
    return { status: "fail", evidence: message };
  }
  return { status: "pass", evidence: `${image} is built (${hash.slice(0, 12)}), and the set-up ran on it` };
}

/** Checks 19 and 20: no file there has the content of a hidden one. A part of one in another file is not seen. */
async function filesAbsent(context: CheckContext, hidden: RegExp, what: string): Promise<Finding> {
  const { task, files } = context;
  if (files === null || task.contract.state === "answer") {
    return { status: "skip", evidence: "the agent of this task has no sandbox of its own files" };
  }
  const shown = new Set(
    files.filter(({ path }) => /^(?:environment|visible)\//.test(path)).map(({ bytes }) => hashOf(bytes)),
  );
  const secret = new Map(
    files
      .filter(({ path, bytes }) => hidden.test(path) && bytes.length >= SMALL_BYTES && !shown.has(hashOf(bytes)))
      .map(({ path, bytes }) => [hashOf(bytes), path]),
  );
  const leaked = files.find(
    ({ path, bytes }) => hidden.test(path) && bytes.length >= SMALL_BYTES && shown.has(hashOf(bytes)) && isTold(path),
  );
  if (leaked !== undefined)
    return { status: "fail", evidence: `the ${what} file ${leaked.path} is also in the environment` };
  const found = await context.withAgentSandbox(async (sandbox) => hashesIn(sandbox));
  const hit = found.find(({ hash }) => secret.has(hash));
  if (hit !== undefined) {
    return {
      status: "fail",
      evidence: `${hit.path} in the agent's sandbox is the ${what} file ${secret.get(hit.hash)}`,
    };
  }
  return { status: "pass", evidence: `none of ${found.length} files there is one of ${secret.size} ${what} files` };
}

/** What tests share with the environment, such as the product's own sources, is no secret. */
function isTold(path: string): boolean {
  return /^tests\/(?:unit|integration|boundary|build|performance)\/test_/.test(path) || path === "solution/solve.sh";
}

async function hashesIn(sandbox: Sandbox): Promise<readonly { readonly hash: string; readonly path: string }[]> {
  const command = `find ${PLACES} -xdev -type f -size -2048k -exec sha256sum {} + 2>/dev/null; true`;
  const listed = text(await sandbox.exec(command, { ...COMMAND, user: "root", cwd: "/" }));
  return listed.split("\n").flatMap((line) => {
    const match = /^\\?([0-9a-f]{64}) [ *](.*)$/.exec(line);
    return match?.[1] === undefined ? [] : [{ hash: match[1], path: match[2] ?? "" }];
  });
}

/** Check 23: repositories hold no later commit, remote, reflog, stash or dangling object to read an answer from. */
async function historyClean(context: CheckContext): Promise<Finding> {
  if (context.task.contract.state === "answer") return { status: "skip", evidence: "its agent has no files" };
  const said = await context.withAgentSandbox(async (sandbox) =>
    text(await sandbox.exec(HISTORY, { ...COMMAND, user: "root", cwd: "/" })),
  );
  if (said.trim() === "") return { status: "skip", evidence: "there is no git repository in the agent's sandbox" };
  const dirty = said.split("\n").find((line) => line.startsWith("dirty "));
  if (dirty !== undefined) return { status: "fail", evidence: `${dirty.slice(6)}; remove it in setup.sh` };
  return {
    status: "pass",
    evidence: `${said.trim().split("\n").length} repositories hold what their branch shows alone`,
  };
}

const HISTORY = `export HOME=/tmp GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
for git in $(find ${PLACES} -xdev -name .git -maxdepth 6 2>/dev/null); do
  at=$(dirname "$git")
  [ -z "$(git -C "$at" remote)" ] || echo "dirty $at has remotes"
  [ -z "$(git -C "$at" stash list 2>/dev/null)" ] || echo "dirty $at has a stash"
  [ "$(git -C "$at" reflog --all 2>/dev/null | wc -l)" -le 1 ] || echo "dirty $at has a reflog of earlier states"
  [ -z "$(git -C "$at" fsck --no-reflogs --unreachable 2>/dev/null | grep -v notice)" ] || echo "dirty $at has unreachable objects"
  [ "$(git -C "$at" for-each-ref --no-contains HEAD 2>/dev/null | wc -l)" -eq 0 ] || echo "dirty $at has branches ahead of HEAD"
  echo "clean $at"
done
true`;

/** Check 43: the agent is nobody special, and nothing there makes it so. */
async function leastPrivilege(context: CheckContext): Promise<Finding> {
  const { task } = context;
  if (task.agentUser === "root") {
    return {
      status: "fail",
      evidence: 'its agent is root; write agent.user = "agent", or keep the accepted risk and its cost',
      file: task.folder,
    };
  }
  const command = `id -u; grep CapEff /proc/self/status; ls /var/run/docker.sock /run/docker.sock /run/podman/podman.sock 2>/dev/null; find /logs /tests /solution -maxdepth 0 -writable 2>/dev/null; true`;
  const said = await context.withAgentSandbox(async (sandbox) =>
    text(await sandbox.exec(command, { ...COMMAND, user: task.agentUser, cwd: "/" })),
  );
  const [uid = "", caps = "", ...more] = said.trim().split("\n");
  const faults = [
    ...(uid === "0" ? ["it acts as uid 0"] : []),
    ...(/CapEff:\s*0+$/.test(caps) ? [] : [`it has capabilities (${caps})`]),
    ...more.map((path) => `${path} is open to it`),
  ];
  if (faults.length > 0) return { status: "fail", evidence: `the agent is not unprivileged: ${faults.join("; ")}` };
  return { status: "pass", evidence: `the agent is uid ${uid} without capabilities, engine socket or grader files` };
}

/** Check 45: what one episode leaves is not there for the next. */
async function noResidue(context: CheckContext): Promise<Finding> {
  const { workdir, agentUser } = context.task;
  const places = [`${workdir}/sandlot-residue`, "/tmp/sandlot-residue", "/var/tmp/sandlot-residue"];
  const as = { ...COMMAND, user: agentUser, cwd: "/" };
  const write = places.map((path) => `echo left > ${path} 2>/dev/null`).join("; ");
  const first = await context.withAgentSandbox(async (sandbox) => {
    await sandbox.exec(`${write}; (sleep 300 &) ; true`, as);
    return sandbox.id;
  });
  const [second, seen] = await context.withAgentSandbox(async (sandbox) => [
    sandbox.id,
    text(await sandbox.exec(`ls ${places.join(" ")} 2>/dev/null; pgrep -x sleep; true`, as)),
  ]);
  if (first === second) return { status: "fail", evidence: "one sandbox served two episodes" };
  if (seen.trim() !== "")
    return { status: "fail", evidence: `the next sandbox holds ${seen.trim().split("\n").join(", ")}` };
  return { status: "pass", evidence: "files and processes of one sandbox are not in the next" };
}

function text(result: ExecResult): string {
  return new TextDecoder().decode(result.stdout);
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
