/**
 * The set-up behind `npm start` and `npm test`, run as real processes in small clones: our scripts with a lock file, a
 * `node_modules` and an `npm` of the test's own making, so that nothing here needs a network.
 */
import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CLI, cleanEnvVars, type Ended, ROOT, type RunOptions, runProgram } from "./run-program.ts";

const PINNED = "24.0.1";
/** Says its version when asked, fails for one word, else tells what it was started with. */
const FAKE_NODE = `#!/bin/sh
case "$*" in
  --version) echo v${PINNED} ;;
  *--required) test -e lacks-namespaces && echo "namespaces are missing" >&2 && exit 3; exit 0 ;;
  *setup*) exit 0 ;;
  *wait-for-term*) exec ${process.execPath} term.mjs ;;
  *) echo "job $*" ;;
esac
`;

let clone = "";

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), "sandlot-clone-"));
  await cp(join(ROOT, "scripts"), join(clone, "scripts"), { recursive: true });
  await writeFile(join(clone, "package.json"), JSON.stringify({ devDependencies: { node: PINNED } }));
  await writeFile(join(clone, "package-lock.json"), lockText("1.0.0"));
  await mkdir(join(clone, "bin"));
});

afterEach(async () => {
  await rm(clone, { recursive: true, force: true });
});

function lockText(version: string): string {
  return JSON.stringify({
    packages: { "": {}, "node_modules/left": { version }, "node_modules/maybe": { version, optional: true } },
  });
}

/** What a finished `npm ci` leaves, with or without the pinned Node's binary. */
async function install(parts: { readonly binary: boolean; readonly installer?: string }): Promise<void> {
  const node = join(clone, "node_modules", "node");
  await mkdir(join(node, "bin"), { recursive: true });
  await writeFile(join(clone, "node_modules", ".package-lock.json"), lockText("1.0.0"));
  if (parts.binary) await writeProgram(join(node, "bin", "node"), FAKE_NODE);
  const installer = parts.installer ?? "";
  await writeFile(join(node, "installArchSpecificPackage.js"), installer);
}

async function writeProgram(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o755);
}

/** An npm that writes down its arguments and then runs these shell lines. */
function fakeNpm(lines: string): Promise<void> {
  return writeProgram(join(clone, "bin", "npm"), `#!/bin/sh\necho "$*" >> npm-calls\necho "npm talks"\n${lines}\n`);
}

async function npmCalls(): Promise<string[]> {
  const text = await readFile(join(clone, "npm-calls"), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

/** `node scripts/start.mjs …` in the clone, with only the test's own npm on PATH. */
function start(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const envVars = cleanEnvVars({ PATH: `${join(clone, "bin")}:/usr/bin:/bin` });
  return runProgram(process.execPath, ["scripts/start.mjs", ...args], { cwd: clone, envVars, ...options });
}

test("a clone that is ready starts the job at once, with its arguments, and calls no npm", async () => {
  await install({ binary: true });
  await fakeNpm("exit 1");
  const ended = await start(["bench", "--only", "sandbox"]);
  expect(ended).toMatchObject({ exitCode: 0, stdout: "job bench/main.ts --only sandbox\n", stderr: "" });
  expect(await npmCalls()).toEqual([]);
});

test("npm start trains first light and passes further arguments on", async ({ skip }) => {
  if (process.getuid?.() !== 0) skip("needs root, which npm start asks for first");
  await install({ binary: true });
  const ended = await start(["start", "--set", "rl.steps=1"]);
  expect(ended.stdout).toBe("job src/cli/main.ts train recipes/first-light.toml --set rl.steps=1\n");
});

test("a fresh clone installs its dependencies once, and talks on stderr only", async () => {
  await install({ binary: true });
  await rm(join(clone, "node_modules", ".package-lock.json"));
  await fakeNpm(`echo '${lockText("1.0.0")}' > node_modules/.package-lock.json`);
  const first = await start(["bench"]);
  expect(first).toMatchObject({ exitCode: 0, stdout: "job bench/main.ts\n" });
  expect(first.stderr).toContain("npm ci");
  expect(first.stderr).toContain("npm talks");
  expect((await start(["bench"])).stderr).toBe("");
  expect(await npmCalls()).toEqual(["ci --no-audit --no-fund --loglevel=error"]);
});

test("a changed lock file installs again", async () => {
  await install({ binary: true });
  await fakeNpm("exit 0");
  await start(["bench"]);
  await writeFile(join(clone, "package-lock.json"), lockText("2.0.0"));
  const ended = await start(["bench"]);
  expect(ended.stderr).toContain("dependencies changed: npm ci");
  expect(await npmCalls()).toHaveLength(1);
});

test("a failing npm ci ends with one sentence that says what to mend", async () => {
  await fakeNpm("exit 7");
  const ended = await start(["test"]);
  expect(ended.exitCode).toBe(3);
  expect(ended.stderr).toContain("npm ci failed (exit 7)");
  expect(ended.stderr).not.toMatch(/\n\s+at /);
});

test("a machine without npm is told to install it", async () => {
  const ended = await start(["test"], { envVars: { PATH: join(clone, "bin") } });
  expect(ended.exitCode).toBe(3);
  expect(ended.stderr).toContain("npm was not found on PATH");
});

test("a pinned Node without its binary is mended by its own installer, and gets its link", async () => {
  const copy = `require("fs").writeFileSync("bin/node", ${JSON.stringify(FAKE_NODE)}, { mode: 0o755 });`;
  await install({ binary: false, installer: copy });
  const ended = await start(["bench"]);
  expect(ended).toMatchObject({ exitCode: 0, stdout: "job bench/main.ts\n" });
  expect(ended.stderr).toContain("npm ignored install scripts");
  expect((await stat(join(clone, "node_modules", ".bin", "node"))).isFile()).toBe(true);
});

test("a pinned Node that stays missing gets one message with the remedy", async () => {
  await install({ binary: false });
  const ended = await start(["test"]);
  expect(ended.exitCode).toBe(3);
  expect(ended.stderr).toContain("npm ci --ignore-scripts=false");
  expect(ended.stdout).toBe("");
});

test("a pinned Node that does not start on this machine is not taken for good", async () => {
  await install({ binary: false });
  await writeProgram(join(clone, "node_modules", "node", "bin", "node"), "#!/bin/sh\nexit 127\n");
  expect((await start(["test"])).stderr).toContain("does not start on this machine");
});

test("npm start refuses early when the kernel lacks what a run needs", async ({ skip }) => {
  if (process.getuid?.() !== 0) skip("needs root, which npm start asks for first");
  await install({ binary: true });
  await writeFile(join(clone, "lacks-namespaces"), "");
  const ended = await start(["start"]);
  expect(ended).toMatchObject({ exitCode: 3, stdout: "", stderr: "namespaces are missing\n" });
});

test("an ordinary user is told to use sudo before anything is installed", async ({ skip }) => {
  if (process.getuid?.() !== 0) skip("needs root to start a process of another user");
  await chmod(clone, 0o755);
  await writeProgram(join(clone, "bin", "node"), "");
  await cp(process.execPath, join(clone, "bin", "node"));
  await fakeNpm("exit 0");
  const envVars = { PATH: join(clone, "bin") };
  const ended = await runProgram(join(clone, "bin", "node"), ["scripts/start.mjs", "start"], {
    cwd: clone,
    envVars,
    uid: 65_534,
  });
  expect(ended.exitCode).toBe(3);
  expect(ended.stderr).toContain("sudo npm start");
  expect(await npmCalls()).toEqual([]);
});

test("an unknown job is a usage error", async () => {
  expect(await start(["strat"])).toMatchObject({ exitCode: 2, stdout: "" });
});

test("a signal reaches the job once, is waited for, and the job's exit code is passed on", async () => {
  await install({ binary: true });
  await writeFile(
    join(clone, "term.mjs"),
    `let count = 0;
process.on("SIGTERM", () => { count += 1; setTimeout(() => { console.log("terms " + count); process.exit(43); }, 300); });
setInterval(() => {}, 1000);
console.log("ready");`,
  );
  let sent = false;
  const ended = await start(["bench", "wait-for-term"], {
    onOutput: (stdout, kill) => {
      if (!sent && stdout.includes("ready")) kill("SIGTERM");
      sent ||= stdout.includes("ready");
    },
  });
  expect(ended).toMatchObject({ exitCode: 43, stdout: "ready\nterms 1\n" });
});

test("a machine without a C compiler gets one message that names what to install", async () => {
  const envVars = { PATH: join(clone, "bin"), HOME: clone, XDG_CACHE_HOME: join(clone, "cache") };
  for (const [extra, message] of [
    [{}, /No C compiler was found.*apt-get install gcc/s],
    [{ CC: "no-such-compiler" }, /CC names "no-such-compiler", which is no program; mend CC, or unset it/],
  ] as const) {
    const ended = await runProgram(process.execPath, [CLI, "setup", "--quiet"], { envVars: { ...envVars, ...extra } });
    expect(ended.exitCode).toBe(3);
    expect(ended.stderr).toMatch(message);
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  }
});

test("a compiler that fails shows its own words and keeps nothing half built", async () => {
  await writeProgram(
    join(clone, "bin", "cc"),
    "#!/bin/sh\necho 'fatal error: stdio.h: No such file or directory' >&2\nexit 1\n",
  );
  const envVars = {
    PATH: join(clone, "bin"),
    CC: join(clone, "bin", "cc"),
    HOME: clone,
    XDG_CACHE_HOME: join(clone, "cache"),
  };
  const ended = await runProgram(process.execPath, [CLI, "setup"], { envVars });
  expect(ended.exitCode).toBe(3);
  expect(ended.stderr).toContain("apt-get install libc6-dev");
});
