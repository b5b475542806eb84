/**
 * The namespace and bwrap providers pass the suite for an ordinary user too. Run as root, this file runs it once more as
 * a user this machine does not know, who owns nothing but a temporary folder, and once as one with a range of ids, granted
 * in a mount namespace that ends with it; run as an ordinary user, it is the suite of the namespace provider.
 */
import { spawn, spawnSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "vitest";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { helperLeakCheck } from "../abuse/leaks.ts";
import { sandboxConformance } from "./sandbox.ts";
import { REQUEST } from "./sandbox-parts.ts";
import { SMALL_INTERNET } from "./small-internet.ts";

const RUN_MS = 900_000;
/** Cases that need more users than one; the others hold with one id already. */
const CASES_OF_USERS = " (12|20|35|47|48|55|69|74|75|77)[a-z]?\\. ";
const NOBODY = 65_534;
const THIS_FILE = "sandbox-non-root.test.ts";
const BWRAP_FILE = "sandbox-bwrap.test.ts";

if (process.geteuid?.() === 0) {
  for (const file of [THIS_FILE, BWRAP_FILE]) {
    test(`a user without a range of ids: ${file}`, (context) => runAs(context, file, freeUid(), null), RUN_MS);
    test(`a user with a range of ids: ${file}`, (context) => runAs(context, file, NOBODY, CASES_OF_USERS), RUN_MS);
  }
} else {
  sandboxConformance(openProvider, { leakCheck: helperLeakCheck });
}

/** Its capabilities are those of the helper that runs, and not what was expected before one did. */
async function openProvider(): Promise<ReturnType<typeof namespaceProvider>> {
  const provider = namespaceProvider({ runtime: systemRuntime(), proxy: SMALL_INTERNET });
  const sandbox = await provider.create(REQUEST, new AbortController().signal);
  await sandbox.destroy();
  return provider;
}

/** A number no account of this machine has. */
function freeUid(): number {
  const taken = new Set(
    readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => Number(line.split(":")[2])),
  );
  for (let uid = 60_100; ; uid += 1) if (!taken.has(uid)) return uid;
}

/** With `cases`, a range of ids is granted and only those are run. */
async function runAs(context: TestContext, file: string, uid: number, cases: string | null): Promise<void> {
  const as = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  const can = (...words: readonly string[]): boolean =>
    spawnSync(as[0] ?? "", [...as.slice(1), ...words], { stdio: "ignore" }).status === 0;
  if (!can("true")) context.skip("There is no setpriv to become another user with.");
  if (!can("test", "-r", join(import.meta.dirname, "sandbox.ts"))) context.skip("Other users cannot read this folder.");
  if (!can("unshare", "-U", "true")) context.skip("This machine refuses user namespaces to ordinary users.");
  if (cases !== null && !can("test", "-x", "/usr/bin/newuidmap")) context.skip("There is no newuidmap.");
  if (file === BWRAP_FILE && !can("bwrap", "--version")) context.skip("There is no bwrap.");
  const home = mkdtempSync(join(tmpdir(), "sandlot-user-"));
  try {
    for (const name of ["", "cache", "run", "tmp"]) {
      mkdirSync(join(home, name), { recursive: true });
      chownSync(join(home, name), uid, uid);
    }
    const range = join(home, "range");
    writeFileSync(range, `nobody:2000000:65536\n`);
    const grant = `mount --bind ${range} /etc/subuid && mount --bind ${range} /etc/subgid && exec "$@"`;
    const words = cases === null ? as : ["unshare", "-m", "sh", "-c", grant, "sh", ...as];
    await runSuite(words, home, file, cases);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function runSuite(as: readonly string[], home: string, file: string, cases: string | null): Promise<void> {
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
  const words = [...as, process.execPath, vitest, "run", "--configLoader", "runner", "--cache=false"];
  words.push(`test/conformance/${file}`, ...(cases === null ? [] : ["-t", cases]));
  const child = spawn(words[0] ?? "", words.slice(1), {
    cwd: join(import.meta.dirname, "../.."),
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      XDG_CACHE_HOME: join(home, "cache"),
      XDG_RUNTIME_DIR: join(home, "run"),
      TMPDIR: join(home, "tmp"),
      NO_COLOR: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (said += bytes.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`The suite of the other user failed:\n${said.slice(-20_000)}`);
}
