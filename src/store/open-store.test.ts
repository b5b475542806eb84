import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { examplePlan, exampleRecord, hashOf } from "../../test/conformance/store-record.ts";
import { MISSING, testUnless } from "../../test/support/unless.ts";
import type { Lease, Store, StoredTrajectory } from "../core/store.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openStore } from "./open-store.ts";

const RUN = "01RUN";
const runtime = systemRuntime();
const CHILD = join(import.meta.dirname, "store-child-support.ts");

let folder: string;
let isMounted = false;
const opened: Store[] = [];
const children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-store-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) await killed(child);
  const closed = await Promise.allSettled(opened.splice(0).map((store) => store.close()));
  if (isMounted) execFileSync("umount", [folder]);
  isMounted = false;
  rmSync(folder, { recursive: true, force: true });
  for (const result of closed) if (result.status === "rejected") throw result.reason;
});

async function open(mode: "owner" | "reader" = "owner"): Promise<Store> {
  const store = await openStore({ folder, runtime, mode });
  opened.push(store);
  return store;
}

async function begin(episodes: number): Promise<Store> {
  const store = await open();
  await store.createRun({
    runId: RUN,
    kind: "train",
    state: "active",
    name: "light",
    createdAt: 1,
    recipeHash: "",
    config: "",
  });
  await store.acquireRun(RUN);
  await store.plan(RUN, examplePlan(episodes, 1));
  return store;
}

async function commit(store: Store, lease: Lease, text: string): Promise<string> {
  return store.commit({ lease, record: exampleRecord({ lease, texts: [text] }) });
}

async function claimOne(store: Store): Promise<Lease> {
  const [lease] = await store.claim({ runId: RUN, workerId: "w", episodesMax: 1, leaseMs: 600_000 });
  if (lease === undefined) throw new Error("nothing was ready");
  return lease;
}

/** Starts a process that owns the folder, and resolves when it does. `lines` grows with what it prints. */
async function startChild(
  task: "hold" | "commit" | "trickle",
): Promise<{ child: ChildProcess; lines: string[]; printed: (count: number) => Promise<void> }> {
  const child = spawn(process.execPath, [CHILD, task, folder, RUN], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const lines: string[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const settle = (): void => {
    for (const { count, resolve } of waiting) if (lines.length >= count || child.exitCode !== null) resolve();
  };
  if (child.stdout === null) throw new Error("the child has no output");
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    settle();
  });
  child.on("close", settle);
  const printed = (count: number): Promise<void> =>
    new Promise((resolve) => {
      waiting.push({ count, resolve });
      settle();
    });
  await printed(1);
  expect(lines[0]).toBe("open");
  return { child, lines, printed };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.kill("SIGKILL");
  await ended;
}

test.each([
  { task: "commit", way: "many at once", kills: [2, 40, 7, 260] },
  { task: "trickle", way: "one by one, while packs are merged", kills: [66, 3, 68] },
] as const)(
  "nothing acknowledged $way is lost when the owner is killed with -9, again and again",
  async ({ task, kills }) => {
    await (await begin(4_000)).close();
    const acknowledged = new Map<number, string>();
    for (const count of kills) {
      const { child, lines, printed } = await startChild(task);
      await printed(count);
      await killed(child);
      for (const line of lines.slice(1)) {
        const [episodeNo = "", hash = ""] = line.split(" ");
        expect(acknowledged.has(Number(episodeNo))).toBe(false);
        acknowledged.set(Number(episodeNo), hash);
      }
      const store = await open();
      for (const [episodeNo, hash] of acknowledged) {
        const stored = await store.trajectory(RUN, episodeNo);
        expect(hashOf((await stored?.body(hash)) ?? Buffer.of())).toBe(hash);
      }
      const { done } = await store.counts(RUN);
      const rows = await store.episodes(RUN);
      expect(rows).toHaveLength(done);
      for (const { episodeNo } of rows)
        expect((await store.trajectory(RUN, episodeNo))?.document.id).toBe(`${RUN}-${episodeNo}`);
      expect(
        packs()
          .map((path) => statSync(path).size)
          .reduce((a, b) => a + b),
      ).toBe((await store.usage()).objectBytes);
      await store.close();
    }
    expect(acknowledged.size).toBeGreaterThan(120);
  },
);

test("a folder has one owner: a second is told which process, since when, and which run", async () => {
  await (await begin(1)).close();
  const { child } = await startChild("hold");
  const named = new RegExp(`process ${child.pid} .*since .* UTC`);
  await expect(open()).rejects.toMatchObject({ code: "run_live", message: expect.stringMatching(named) });
  await expect(open()).rejects.toThrow(/Run 01RUN \(light\) is live/);
  const reader = await open("reader");
  expect((await reader.run(RUN))?.owner?.pid).toBe(child.pid);
  await expect(reader.acquireRun(RUN)).rejects.toMatchObject({
    code: "run_live",
    message: expect.stringMatching(named),
  });

  await killed(child);
  expect((await reader.run(RUN))?.owner).toBeNull();
  const store = await open();
  await store.acquireRun(RUN);
  expect((await store.run(RUN))?.owner?.pid).toBe(process.pid);
});

test("an owner whose process id now belongs to another process is dead", async () => {
  await (await begin(1)).close();
  const database = new DatabaseSync(join(folder, "sandlot.db"));
  database.exec(
    `INSERT INTO owner (id, token, pid, process_start, since) VALUES (1, 'old', ${process.pid}, 'boot/1', 0)`,
  );
  database.close();
  await open();
});

test("a reader follows what the owner writes, and cannot write", async () => {
  const store = await begin(2);
  const reader = await open("reader");
  await commit(store, await claimOne(store), "seen");
  expect((await reader.trajectory(RUN, 0))?.document.id).toBe("01RUN-0");
  expect(await reader.counts(RUN)).toMatchObject({ ready: 1, done: 1 });
  await expect(reader.cancel(RUN)).rejects.toMatchObject({ code: "store_locked" });
});

test("an owner that holds no run is named by its process", async () => {
  await open();
  const message = expect.stringMatching(new RegExp(`${folder} belongs to process ${process.pid} since `));
  await expect(open()).rejects.toMatchObject({ code: "store_locked", message });
});

test("after a kill a reader needs no owner to see what was acknowledged", async () => {
  await (await begin(40)).close();
  const { child, lines, printed } = await startChild("commit");
  await printed(20);
  await killed(child);
  const reader = await open("reader");
  for (const line of lines.slice(1)) expect(await reader.trajectory(RUN, Number(line.split(" ")[0]))).not.toBeNull();
  expect((await reader.run(RUN))?.owner).toBeNull();
});

test("reading where there is no store says so", async () => {
  await expect(open("reader")).rejects.toMatchObject({
    code: "not_found",
    message: expect.stringMatching(/no store at/),
  });
});

test("a store of a newer schema is refused, naming both versions, and left as it is", async () => {
  await (await begin(1)).close();
  const database = new DatabaseSync(join(folder, "sandlot.db"));
  database.exec("UPDATE schema_version SET version = 99");
  database.close();
  for (const mode of ["owner", "reader"] as const) {
    await expect(open(mode)).rejects.toThrow(/has schema version 99; this Sandlot has schema version 2/);
  }
});

test("records that end together share a pack", async () => {
  const store = await begin(64);
  const leases = await store.claim({ runId: RUN, workerId: "w", episodesMax: 64, leaseMs: 1_000 });
  await Promise.all(leases.map((lease) => commit(store, lease, `answer ${lease.episodeNo}`)));
  expect(packs()).toHaveLength(1);
});

test("slow traffic does not end as one file per episode: small packs are merged, also under a reader", async () => {
  const store = await begin(150);
  const reader = await open("reader");
  const early: (StoredTrajectory | null)[] = [];
  for (let count = 0; count < 150; count += 1) {
    const lease = await claimOne(store);
    await commit(store, lease, `answer ${lease.episodeNo}`);
    early.push(await reader.trajectory(RUN, lease.episodeNo));
  }
  for (const [episodeNo, stored] of early.entries()) {
    const hash = hashOf(Buffer.from(`answer ${episodeNo}`));
    // Two at once: each must find the pack's new place by itself.
    const bodies = await Promise.all([stored?.body(hash), stored?.body(hash)]);
    for (const body of bodies) expect(Buffer.from(body ?? []).toString()).toBe(`answer ${episodeNo}`);
  }
  await store.close();
  expect(packs().length).toBeLessThan(80);
  expect(
    packs()
      .map((path) => statSync(path).size)
      .reduce((a, b) => a + b),
  ).toBe((await reader.usage()).objectBytes);
  for (let no = 0; no < 150; no += 1) expect((await reader.trajectory(RUN, no))?.document.id).toBe(`01RUN-${no}`);
});

test("a large body is kept once, whoever has it", async () => {
  const store = await begin(3);
  const large = "one body of half a megabyte ".repeat(20_000);
  for (let count = 0; count < 3; count += 1) await commit(store, await claimOne(store), large);
  expect(readdirSync(join(folder, "objects/p/default/c"))).toEqual([hashOf(Buffer.from(large))]);
  const stored = await store.trajectory(RUN, 2);
  expect((await stored?.body(hashOf(Buffer.from(large))))?.length).toBe(large.length);
});

test("a pack that is cut, changed or gone is named when it is read, and hurts no other record", async () => {
  const store = await begin(4);
  for (let count = 0; count < 4; count += 1) await commit(store, await claimOne(store), `answer ${count}`);
  await store.close();
  const paths = packs();
  const [cut = "", changed = "", gone = ""] = paths;
  truncateSync(cut, readFileSync(cut).length - 10);
  writeFileSync(
    changed,
    readFileSync(changed).map((byte, place) => (place > 20 && place < 60 ? byte ^ 0xff : byte)),
  );
  rmSync(gone);
  const again = await open("reader");
  await expect(again.trajectory(RUN, 0)).rejects.toMatchObject({ code: "record_invalid" });
  await expect(again.trajectory(RUN, 1)).rejects.toMatchObject({
    code: "record_invalid",
    message: expect.stringMatching(/damaged/),
  });
  await expect(again.trajectory(RUN, 2)).rejects.toMatchObject({ code: "object_missing" });
  expect((await again.trajectory(RUN, 3))?.document.id).toBe("01RUN-3");
  expect(await again.episodes(RUN)).toHaveLength(4);
});

/** Paths of the packs, oldest first. */
function packs(): string[] {
  const place = join(folder, "objects/p/default/pack");
  return readdirSync(place)
    .sort()
    .map((name) => join(place, name));
}

testUnless(MISSING.root)(
  "a full disk refuses by name, tears nothing, and goes on when there is room again",
  async () => {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m", "sandlot-test", folder]);
    isMounted = true;
    const store = await begin(200);
    const filler = join(folder, "filler");
    const text = (): string => Buffer.from(runtime.randomBytes(60_000)).toString("hex");
    writeFileSync(filler, Buffer.alloc(3_500_000));
    const kept: Lease[] = [];
    let refused: unknown = null;
    let lease = await claimOne(store);
    while (refused === null && kept.length < 100) {
      const answer = await commit(store, lease, text()).catch((error: unknown) => {
        refused = error;
      });
      if (answer !== "accepted") break;
      kept.push(lease);
      lease = await claimOne(store);
    }
    expect(refused).toMatchObject({
      code: "disk_full",
      message: expect.stringMatching(new RegExp(`${folder}.*Free space`)),
    });
    expect(kept.length).toBeGreaterThan(3);

    rmSync(filler);
    expect(await commit(store, lease, text())).toBe("accepted");
    await store.close();
    const again = await open();
    for (const { episodeNo } of [...kept, lease]) {
      const stored = await again.trajectory(RUN, episodeNo);
      const hash = stored?.document.turns[0]?.textBlob ?? "";
      expect((await stored?.body(hash))?.length).toBe(120_000);
    }
  },
);

testUnless(MISSING.root)(
  "when not even a row fits, claims are refused as disk_full and nothing is leased",
  async () => {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "sandlot-test", folder]);
    isMounted = true;
    const store = await begin(400);
    try {
      writeFileSync(join(folder, "filler"), Buffer.alloc(8_000_000));
    } catch {
      // The file now takes all there was, which is the point.
    }
    const claim = () => store.claim({ runId: RUN, workerId: "w", episodesMax: 400, leaseMs: 1_000 });
    await expect(claim()).rejects.toMatchObject({ code: "disk_full" });
    expect(await store.counts(RUN)).toMatchObject({ ready: 400, leased: 0 });
    rmSync(join(folder, "filler"));
    expect(await claim()).toHaveLength(400);
  },
);

test("a folder that cannot be made is named", async () => {
  mkdirSync(join(folder, "plain"));
  writeFileSync(join(folder, "plain", "file"), "");
  const options = { folder: join(folder, "plain", "file", "data"), runtime, mode: "owner" } as const;
  await expect(openStore(options)).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/plain\/file/),
  });
  // Where the file system says that nothing can be made, rather than that it may not.
  const none = openStore({ folder: "/proc/none/data", runtime, mode: "owner" });
  await expect(none).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/\/proc\/none.*SANDLOT_DATA/),
  });
});

test("a database that was overwritten is named with the way out", async () => {
  writeFileSync(join(folder, "sandlot.db"), "no database at all, and longer than its header".repeat(10));
  await expect(openStore({ folder, runtime, mode: "owner" })).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(/not a database.*copy of sandlot\.db.*SANDLOT_DATA/),
  });
});
