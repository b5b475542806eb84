/**
 * Makes a fresh clone ready to run: the machine is checked, dependencies and the pinned Node 24 are installed, the
 * native parts are compiled. Each part is skipped when it is already there. This file must run on the oldest Node we
 * accept (20) with nothing installed, so it is plain JavaScript on Node's own modules.
 *
 * Everything it says goes to stderr: stdout belongs to the job.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

const NODE_MAJOR_MIN = 20;
const INSTALL_MS_MAX = 30 * 60_000;

/** A set-up fault a person can mend. Printed as it is, without a stack; `exitCode` 3 = the machine lacks something. */
export class SetupError extends Error {
  name = "SetupError";
  exitCode = 3;
}

export function say(text) {
  process.stderr.write(`sandlot: ${text}\n`);
}

/** Throws SetupError unless this is Linux with a Node and an npm that can install the rest. */
export function checkMachine() {
  if (process.platform !== "linux") {
    throw new SetupError(
      `Sandlot needs Linux; this is ${process.platform}. Run it on a Linux machine or in a Linux virtual machine.`,
    );
  }
  if (Number(process.versions.node.split(".")[0]) < NODE_MAJOR_MIN) {
    throw new SetupError(
      `Node ${process.versions.node} is too old: Node ${NODE_MAJOR_MIN} or newer starts the set-up, which then installs its own Node 24.`,
    );
  }
}

/** Runs `npm ci` when `node_modules` is absent or is not what `package-lock.json` says. */
export function installDependencies(root) {
  const lockText = readFileSync(join(root, "package-lock.json"));
  const hash = createHash("sha256").update(lockText).digest("hex");
  const stamp = join(root, "node_modules", ".sandlot-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8").trim() === hash) return;
  if (!isInstalled(root, JSON.parse(lockText.toString()))) {
    say(existsSync(join(root, "node_modules")) ? "dependencies changed: npm ci" : "installing dependencies: npm ci");
    // Output of npm goes to our stderr, so that `--json` stays alone on stdout.
    // Its warnings are about Node versions that only the pinned Node meets; errors are shown.
    const result = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: root,
      stdio: ["ignore", 2, 2],
      env: npmEnvVars(),
      timeout: INSTALL_MS_MAX,
    });
    if (result.error?.code === "ENOENT") {
      throw new SetupError(
        "npm was not found on PATH. Install it (it comes with Node), for example: apt-get install npm",
      );
    }
    if (result.status !== 0) {
      throw new SetupError(
        `npm ci failed (${result.signal ?? `exit ${result.status}`}); its own message is above. ` +
          "Mend that (often: no network, a proxy, or a full disk) and run the same command again.",
      );
    }
  }
  writeFileSync(stamp, `${hash}\n`);
}

/** True when npm's own record in `node_modules` holds each locked package at its locked version. */
function isInstalled(root, lock) {
  let installed;
  try {
    installed = JSON.parse(readFileSync(join(root, "node_modules", ".package-lock.json"), "utf8")).packages;
  } catch {
    return false;
  }
  return Object.entries(lock.packages).every(
    ([path, entry]) => path === "" || entry.optional || installed[path]?.version === entry.version,
  );
}

/** What `npm run` adds to the environment would send a nested npm to the wrong folder. Settings of the user stay. */
function npmEnvVars() {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^npm_(lifecycle|package)_|^npm_command$|^npm_config_(local_)?prefix$/.test(name),
  );
  return Object.fromEntries(kept);
}

/**
 * The path of the pinned Node. When npm was told to ignore install scripts its binary is missing; the package's own
 * installer is then run once. Throws SetupError with the remedy when there is still none.
 */
export function pinnedNode(root) {
  const folder = join(root, "node_modules", "node");
  const binary = join(folder, "bin", "node");
  const wanted = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies.node;
  if (versionOf(binary) === wanted) return linked(root, binary);
  const installer = join(folder, "installArchSpecificPackage.js");
  if (existsSync(installer)) {
    say(`the pinned Node ${wanted} has no binary yet (npm ignored install scripts); running its installer`);
    spawnSync(process.execPath, [installer], {
      cwd: folder,
      stdio: ["ignore", 2, 2],
      env: npmEnvVars(),
      timeout: INSTALL_MS_MAX,
    });
    if (versionOf(binary) === wanted) return linked(root, binary);
  }
  // Without the stamp the next start looks at node_modules again.
  rmSync(join(root, "node_modules", ".sandlot-lock"), { force: true });
  throw new SetupError(
    `The pinned Node ${wanted} is not at node_modules/node/bin/node, or does not start on this machine. ` +
      "npm was probably told to ignore install scripts. Run: npm ci --ignore-scripts=false",
  );
}

/** npm leaves out the link to a program that was not there yet, and documents name the program by it. */
function linked(root, binary) {
  const link = join(root, "node_modules", ".bin", "node");
  if (!existsSync(link)) {
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync("../node/bin/node", link);
  }
  return binary;
}

function versionOf(binary) {
  if (!existsSync(binary)) return null;
  const result = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 30_000 });
  return result.status === 0 ? result.stdout.trim().replace(/^v/, "") : null;
}

/** Environment of every job: programs named `node` and those of `node_modules` are the pinned ones. */
export function jobEnvVars(root, extra = {}) {
  const folders = [join(root, "node_modules", "node", "bin"), join(root, "node_modules", ".bin")];
  return { ...process.env, ...extra, PATH: [...folders, process.env.PATH ?? ""].join(delimiter) };
}

/**
 * Compiles the native parts by `sandlot setup`, which says itself what is missing. Quick when they are built. With
 * `isRunNext` it also refuses a machine that lacks what a run requires, before the run is begun.
 */
export function buildNativeParts(root, node, isRunNext) {
  const args = [join(root, "src", "cli", "main.ts"), "setup", "--quiet", ...(isRunNext ? ["--required"] : [])];
  const result = spawnSync(node, args, { cwd: root, stdio: ["ignore", 2, 2], env: jobEnvVars(root) });
  if (result.status !== 0) throw alreadySaid(result);
}

/** The child has printed the message; only its exit code is passed on. */
function alreadySaid(result) {
  const error = new SetupError("");
  error.exitCode = result.status ?? 3;
  return error;
}
