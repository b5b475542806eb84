#!/usr/bin/env node
/**
 * What `npm start`, `npm test` and the other scripts run: makes the clone ready (prepare.mjs), then starts the job on
 * the pinned Node. It exits as the job exits. In a terminal Ctrl-C reaches the job by itself, as it belongs to the
 * same foreground group; so this process only waits and never sends it a second time.
 */
import { spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  buildNativeParts,
  checkMachine,
  installDependencies,
  jobEnvVars,
  pinnedNode,
  SetupError,
  say,
} from "./prepare.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const FIRST_LIGHT = "recipes/first-light.toml";
const JOBS = ["start", "test", "test:fast", "test:long", "check", "build", "bench", "hacks"];

async function main([job, ...args]) {
  if (!JOBS.includes(job)) {
    process.stderr.write(`usage: node scripts/start.mjs ${JOBS.join("|")} [arguments]\n`);
    return 2;
  }
  checkMachine();
  if (job === "start") checkIds();
  installDependencies(root);
  const node = pinnedNode(root);
  if (job === "check") return check(node);
  if (job === "build") return build(node);
  buildNativeParts(root, node, job === "start");
  if (job === "bench") return run(node, ["bench/main.ts", ...args]);
  if (job === "hacks") return run(node, ["test/hacks/main.ts", ...args]);
  if (job !== "start") return test(node, job, args);
  return run(node, ["src/cli/main.ts", "train", FIRST_LIGHT, ...args]);
}

/** Said before anything is installed: a sandbox needs users of its own, whose ids only root or /etc/subuid can give. */
function checkIds() {
  const uid = process.getuid();
  const username = userNameOf(uid);
  const isGranted = (path) =>
    existsSync(path) &&
    readFileSync(path, "utf8")
      .split("\n")
      .map((line) => line.split(":"))
      .some(([name, , count]) => [username, String(uid)].includes(name) && Number(count) >= 65_536);
  const hasMappers = ["newuidmap", "newgidmap"].every((name) => existsSync(`/usr/bin/${name}`));
  if (uid === 0 || (hasMappers && isGranted("/etc/subuid") && isGranted("/etc/subgid"))) return;
  throw new SetupError(
    "npm start needs root, or ids for the users inside its sandboxes. Run: sudo npm start\n" +
      `or grant them once: sudo apt-get install uidmap && sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${username}`,
  );
}

/** A user may have no name. */
function userNameOf(uid) {
  try {
    return userInfo().username;
  } catch {
    return String(uid);
  }
}

/** Runs the suites, then lists what was skipped and why. The last line is `N passed, N failed, N skipped`. */
async function test(node, job, args) {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-test-"));
  const report = join(folder, "report.json");
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--reporter=default"];
  const options = [`--reporter=${join(root, "scripts", "test-summary.mjs")}`];
  if (job === "test:fast") options.push("--exclude=test/**");
  if (job === "test:long") options.push("--testTimeout=1800000", "--hookTimeout=1800000");
  const extra = { SANDLOT_TEST_REPORT: report, ...(job === "test:long" ? { SANDLOT_TEST_SIZE: "long" } : {}) };
  try {
    const exitCode = await run(node, [...vitest, ...options, ...args], extra);
    if (!existsSync(report)) {
      process.stdout.write("\nThe tests ended before they could be counted.\n");
      return exitCode === 0 ? 1 : exitCode;
    }
    const { passed, failed, skipped, failures, secondTries } = JSON.parse(readFileSync(report, "utf8"));
    // Asked for by name, all other tests are skipped without a reason: nothing to tell.
    const isByName = args.some((arg) => arg === "-t" || arg.startsWith("--testNamePattern"));
    const told = isByName ? skipped.filter(({ reason }) => reason) : skipped;
    if (told.length > 0) process.stdout.write("\nSkipped on this machine:\n");
    for (const { title, reason } of told) process.stdout.write(`  ${title}${reason ? ` (${reason})` : ""}\n`);
    if (secondTries.length > 0) process.stdout.write("\nPassed on the second try only:\n");
    for (const title of secondTries) process.stdout.write(`  ${title}\n`);
    if (failures.length > 0) process.stdout.write("\nFailed:\n");
    for (const title of failures) process.stdout.write(`  ${title}\n`);
    process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped\n`);
    return exitCode === 0 && failed > 0 ? 1 : exitCode;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every check runs, also after one has failed, so that one call shows all there is to mend. */
async function check(node) {
  const steps = [
    ["biome", () => run(node, ["node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "."])],
    ["tsc", () => run(node, ["node_modules/typescript/bin/tsc", "-p", "."])],
    ["tidy", () => run(node, ["node_modules/vitest/vitest.mjs", "run", "test/tidy.test.ts"])],
    ["knip", () => run(node, ["node_modules/knip/bin/knip.js"])],
    ["build", () => build(node)],
    ["publint", () => run(node, ["node_modules/publint/src/cli.js", "--strict"])],
    [
      "attw",
      () => run(node, ["node_modules/@arethetypeswrong/cli/dist/index.js", "--pack", ".", "--profile", "esm-only"]),
    ],
  ];
  const failed = [];
  for (const [name, step] of steps) {
    say(`check: ${name}`);
    const exitCode = await step();
    if (exitCode >= 128) return exitCode;
    if (exitCode !== 0) failed.push(name);
  }
  say(failed.length === 0 ? "check: all good" : `check: failed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
}

/** Writes `dist/` afresh: JavaScript, declarations, and the files that are no TypeScript but are read at run time. */
async function build(node) {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const exitCode = await run(node, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"]);
  if (exitCode !== 0) return exitCode;
  /* The suites of `sandlot/testing` compile their abuse programs where they run. */
  const assets = [
    ...filesBelow("src", ".py"),
    ...filesBelow("src", ".mjs"),
    ...filesBelow("test/abuse/programs", ".c"),
  ];
  for (const path of assets) cpSync(join(root, path), join(root, "dist", path));
  chmodSync(join(root, "dist", "src", "cli", "main.js"), 0o755);
  say(`build: dist/ is ready (${assets.length} assets copied)`);
  return 0;
}

function filesBelow(folder, ending) {
  const paths = readdirSync(join(root, folder), { recursive: true });
  return paths.filter((path) => path.endsWith(ending)).map((path) => join(folder, path));
}

/** Runs the pinned Node to its end and gives its exit code (128 + number when a signal ended it). */
function run(node, args, extra = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, { cwd: root, stdio: "inherit", env: jobEnvVars(root, extra) });
    const forward = (signal) => child.kill(signal);
    // A terminal delivers Ctrl-C to the job too; without one nobody else does.
    const onInterrupt = process.stdin.isTTY || process.stderr.isTTY ? () => undefined : forward;
    process.on("SIGINT", onInterrupt);
    process.on("SIGTERM", forward);
    process.on("SIGHUP", forward);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      process.off("SIGINT", onInterrupt);
      process.off("SIGTERM", forward);
      process.off("SIGHUP", forward);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  if (error.message !== "") say(error.message);
  process.exitCode = error.exitCode;
}
