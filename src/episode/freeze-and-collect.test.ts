/** What crosses from real sandboxes, and what hostile things left there do not do. */
import { afterAll, expect, test } from "vitest";
import { smallRequest } from "../../test/support/sandbox-request.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { ArtifactContract, ArtifactRule } from "../core/task.ts";
import { systemRuntime } from "../runtime/system.ts";
import { sandboxPool } from "../sandbox/pool.ts";
import { namespaceProvider } from "../sandbox/provider-namespace.ts";
import { artifactsHash, type CollectOptions, freezeAndCollect } from "./freeze-and-collect.ts";

const runtime = systemRuntime();
const provider = namespaceProvider({ runtime });
const pool = sandboxPool({ provider, runtime, lentMax: 2, creatingMax: 1, readyMax: 0 });
afterAll(async () => {
  await pool.drain();
  expect(await provider.list()).toEqual([]);
  await provider.close();
});

const MIB = 1024 * 1024;
let attempts = 0;

function withAgent<T>(commands: readonly string[], use: (sandbox: Sandbox) => Promise<T>, user = "agent"): Promise<T> {
  attempts += 1;
  const request = smallRequest({ attemptId: `collect-${process.pid}-${attempts}` });
  return pool.withSandbox(request, new AbortController().signal, async (sandbox) => {
    const run = (command: string, as: string) =>
      sandbox.exec(command, { user: as, cwd: "/", timeoutMs: 20_000, outputBytesMax: 10_000 });
    await run("mkdir -p /app && chown agent: /app", "root");
    for (const command of commands) {
      const result = await run(`cd /app && ${command}`, user);
      expect(Buffer.from(result.stderr).toString("utf8"), command).toBe("");
    }
    return use(sandbox);
  });
}

function contract(change: Partial<ArtifactContract> = {}): ArtifactContract {
  return { state: "workdir", files: [], bytesMax: MIB, entriesMax: 1_000, ...change };
}

/** What of the work folder, or of the rules, crossed: paths, reasons, and whether it was too much. */
async function collect(
  commands: readonly string[],
  rules: readonly ArtifactRule[] = [],
  change: Partial<ArtifactContract> = {},
  options: CollectOptions & { readonly as?: string } = {},
) {
  const declared = rules.length === 0 ? {} : ({ state: "declared", files: rules } as const);
  return withAgent(
    commands,
    async (sandbox) => {
      const { artifacts, isOverCaps } = await freezeAndCollect(
        contract({ ...declared, ...change }),
        "/app",
        null,
        sandbox,
        options,
      );
      return {
        isOverCaps,
        paths: artifacts.files.map(({ path }) => path),
        missing: artifacts.missing,
        refused: Object.fromEntries((artifacts.refused ?? []).map(({ path, reason }) => [path, reason])),
        artifacts,
      };
    },
    options.as,
  );
}

const rule = (path: string, change: Partial<ArtifactRule> = {}): ArtifactRule => ({ path, required: true, ...change });

test("links, devices, FIFOs and sockets in the work folder are left out and named, and all else crosses", async () => {
  const socket = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'";
  const got = await collect(["echo a > good", "ln -s /etc/passwd link", "ln -s good inner", "mkfifo pipe", socket]);
  expect(got.paths).toEqual(["/app/good"]);
  expect(got.refused).toEqual({
    "/app/link": "it is a link, device, FIFO or socket",
    "/app/inner": "it is a link, device, FIFO or socket",
    "/app/pipe": "it is a link, device, FIFO or socket",
    "/app/sock": "it is a link, device, FIFO or socket",
  });
});

test("a declared path that is a link, lies behind one, or is a FIFO counts as not made and says why", async () => {
  const rules = ["/app/link", "/app/way/file", "/app/pipe", "/app/none", "/app/file/below"].map((path) => rule(path));
  const got = await collect(
    ["ln -s /etc/passwd link", "mkdir real && echo a > real/file", "ln -s real way", "mkfifo pipe", "echo a > file"],
    rules,
  );
  expect(got.paths).toEqual([]);
  expect(got.missing).toEqual(rules.map(({ path }) => path));
  expect(got.refused).toEqual({
    "/app/link": "/app/link is a link, and links are not followed",
    "/app/way/file": "/app/way is a link, and links are not followed",
    "/app/pipe": "/app/pipe is a device, FIFO or socket",
    "/app/file/below": "/app/file is no folder",
  });
});

test("a program that would run as another user does not cross", async () => {
  const got = await collect([
    "cp /bin/true a && chmod 4755 a",
    "cp /bin/true b && chmod 2755 b",
    "cp /bin/true c && chmod 755 c",
  ]);
  expect(got.paths).toEqual(["/app/c"]);
  expect(Object.keys(got.refused)).toEqual(["/app/a", "/app/b"]);
});

test("a hard link carries nothing out that the agent may not read itself", async () => {
  const got = await collect(["(ln /etc/shadow secret || ln /etc/gshadow secret) 2> said; cat said | wc -l > lines"]);
  expect(got.paths).not.toContain("/app/secret");
  expect(got.paths).toContain("/app/said");
});

test("a sparse terabyte is refused without being read: alone under its rule's cap, else as too much", async () => {
  const sparse = 'python3 -c \'open("big", "w").truncate(1 << 40)\'';
  const capped = await collect([sparse, "echo a > small"], [rule("/app/big", { bytesMax: 1_000 }), rule("/app/small")]);
  expect(capped).toMatchObject({ isOverCaps: false, paths: ["/app/small"], missing: ["/app/big"] });
  expect(capped.refused["/app/big"]).toBe("it has more than 1000 bytes, the most its rule allows");
  expect(await collect([sparse], [rule("/app/big")])).toMatchObject({ isOverCaps: true, paths: [] });
  expect(await collect([sparse])).toMatchObject({ isOverCaps: true, paths: [] });
});

test("a tree beyond its rule's entries counts as not made, and one beyond the contract's as too much", async () => {
  const many = "mkdir tree && cd tree && seq 1 50 | xargs touch";
  const capped = await collect([many, "echo a > x"], [rule("/app/tree", { entriesMax: 10 }), rule("/app/x")]);
  expect(capped).toMatchObject({ isOverCaps: false, paths: ["/app/x"], missing: ["/app/tree"] });
  expect(await collect([many], [], { entriesMax: 20 })).toMatchObject({ isOverCaps: true, paths: [] });
});

test("a file below more than 32 folders, or whose name is no UTF-8, is left out; one with a newline crosses", async () => {
  const deep =
    'python3 -c \'import os; os.makedirs("/".join(["d"] * 40)); open("d/" * 40 + "f", "w"); open("d/" * 20 + "g", "w")\'';
  const names = 'python3 -c \'open(b"bad\\xff", "w"); open("two\\nlines", "w")\'';
  const got = await collect([deep, names]);
  expect(got.paths).toEqual([`/app/${"d/".repeat(20)}g`, "/app/two\nlines"]);
  expect(Object.values(got.refused).sort()).toEqual(["it lies deeper than 32 folders", "its name is no UTF-8"]);
});

test("a tree as deep as a file system allows neither hangs nor fails the collection", async () => {
  const deep = 'python3 -c \'import os\nfor _ in range(2000):\n    os.mkdir("d"); os.chdir("d")\'';
  const got = await collect([deep, "echo a > good"], [], { entriesMax: 10_000 });
  expect(got.isOverCaps || got.paths.includes("/app/good") || got.missing.includes("/app")).toBe(true);
});

test("a file that is not of its kind counts as not made; a sound one crosses", async () => {
  const commands = [
    `echo '{"a": [1, 2.5]}' > good.json`,
    "echo '{oops' > bad.json",
    `printf 'a,b\\n1,"x, ""y""\\nz"\\n' > good.csv`,
    "printf 'a,b\\n1\\n' > bad.csv",
    `printf '"a' > open.csv`,
    `python3 -c 'import sqlite3; d = sqlite3.connect("good.db"); d.execute("create table t(a)"); d.close()'`,
    "head -c 5000 good.db > cut.db",
    "echo hello there > bad.db",
    "echo 'CREATE TABLE t(a int);' > good.dump",
    "printf '\\0' > bad.dump",
    "mkdir folder && echo a > folder/a",
  ];
  const kinds = { json: "json", csv: "csv", db: "sqlite", dump: "dump" } as const;
  const file = (name: string) => rule(`/app/${name}`, { kind: kinds[name.split(".")[1] as keyof typeof kinds] });
  const names = [
    "good.json",
    "bad.json",
    "good.csv",
    "bad.csv",
    "open.csv",
    "good.db",
    "cut.db",
    "bad.db",
    "good.dump",
    "bad.dump",
  ];
  const rules = [...names.map(file), rule("/app/folder", { kind: "file" }), rule("/app/good.csv", { kind: "tree" })];
  const got = await collect(commands, rules);
  expect(got.paths).toEqual(["/app/good.csv", "/app/good.db", "/app/good.dump", "/app/good.json"]);
  expect(got.missing).toContain("/app/bad.json");
  expect(got.refused).toMatchObject({
    "/app/bad.json": expect.stringContaining("no json"),
    "/app/bad.csv": "no csv: record 2 has 1 fields, the first has 2",
    "/app/open.csv": "no csv: the quote that record 1 opens is never closed",
    "/app/cut.db": "no sqlite: its last page is cut",
    "/app/bad.db": "no sqlite: it is shorter than the head of a SQLite database",
    "/app/bad.dump": expect.stringContaining("no dump"),
    "/app/folder": "it is a folder; the contract wants a file",
  });
});

test("a JSON text of very many or very deep values is a refusal or an artifact, and stops nothing", async () => {
  const bomb = "python3 -c 'print(\"[\" * 900000)' > bomb.json";
  const objects = 'python3 -c \'print("[" + ",".join(["{}"] * 300000) + "]")\' > many.json';
  const got = await collect(
    [bomb, objects],
    [rule("/app/bomb.json", { kind: "json" }), rule("/app/many.json", { kind: "json" })],
    { bytesMax: 4 * MIB },
  );
  expect(got.missing).toContain("/app/bomb.json");
  expect(got.isOverCaps).toBe(false);
});

test("patterns 30 and 36: no process of the agent outlives the freeze, so nothing is rewritten behind it", async () => {
  const rewriter = "setsid sh -c 'while true; do echo forged > out; done' > /dev/null 2>&1 &";
  await withAgent(["echo honest > out", `${rewriter} sleep 0.2`], async (sandbox) => {
    const first = await freezeAndCollect(contract(), "/app", null, sandbox);
    await runtime.sleep(200);
    const again = await freezeAndCollect(contract(), "/app", null, sandbox);
    expect(again.artifacts.hash).toBe(first.artifacts.hash);
    const alive = await sandbox.processes();
    expect(alive.filter(({ uid }) => uid === 1000)).toEqual([]);
    await expect(sandbox.exec("true", { timeoutMs: 1_000, outputBytesMax: 10 })).rejects.toMatchObject({
      code: "sandbox_busy",
    });
  });
});

test("commands of the contract run before the freeze as the agent's user, and a failing one is told and no fault", async () => {
  const got = await collect([], [], { collect: ["id -un > who", "exit 3"] });
  expect(got.paths).toEqual(["/app/who"]);
  expect(Buffer.from(got.artifacts.files[0]?.bytes ?? []).toString("utf8")).toBe("agent\n");
  expect(got.refused["/app"]).toContain("failed (exit code 3)");
});

test("what the agent left of its visible tests crosses apart, is part of the hash, and may be too much without harm", async () => {
  const left = ["mkdir -p /visible/unit && echo a > /visible/unit/test_a.py", "echo b > /app/b"];
  const got = await collect(left, [], {}, { hasVisibleFiles: true, as: "root" });
  expect(got.paths).toEqual(["/app/b"]);
  expect(got.artifacts.visible?.map(({ path }) => path)).toEqual(["/visible/unit/test_a.py"]);
  expect(got.artifacts.hash).toBe(artifactsHash(null, got.artifacts.files, [], got.artifacts.visible));
  expect(got.artifacts.hash).not.toBe(artifactsHash(null, got.artifacts.files, []));
  const large = await collect(
    [...left, "head -c 2000000 /dev/zero > /visible/big"],
    [],
    {},
    { hasVisibleFiles: true, as: "root" },
  );
  expect(large).toMatchObject({ isOverCaps: false, paths: ["/app/b"], artifacts: { files: [{}] } });
  expect(large.artifacts.visible).toBeUndefined();
});
