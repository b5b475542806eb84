/**
 * A process that owns a store, for tests that kill it: it opens the folder, prints `open`, then claims and commits in
 * a loop and prints each episode and the hash of its body once the commit was answered. `trickle` does so one
 * episode at a time; `hold` only holds a run; `mark` commits one episode between two marks in the file $SYNC_LOG.
 */
import { appendFileSync, writeSync } from "node:fs";
import { exampleRecord, hashOf } from "../../test/conformance/store-record.ts";
import type { Lease, Store } from "../core/store.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openStore } from "./open-store.ts";

const [task = "", folder = "", runId = ""] = process.argv.slice(2);
const runtime = systemRuntime();

const store = await openStore({ folder, runtime, mode: "owner" });
await store.acquireRun(runId);
await store.reap(runId);
writeSync(1, "open\n");
if (task === "hold") await runtime.sleep(600_000);
if (task === "mark") await markOne(store, process.env["SYNC_LOG"] ?? "");
else await Promise.all(Array.from({ length: task === "commit" ? 8 : 1 }, () => commitAll(store)));
await store.close();

async function commitAll(owned: Store): Promise<void> {
  for (;;) {
    const leases = await owned.claim({
      runId,
      workerId: "child",
      episodesMax: task === "commit" ? 2 : 1,
      leaseMs: 600_000,
    });
    if (leases.length === 0) return;
    await Promise.all(leases.map((lease) => commitOne(owned, lease)));
  }
}

async function commitOne(owned: Store, lease: Lease): Promise<void> {
  const text = Buffer.from(runtime.randomBytes(4_000)).toString("hex");
  await owned.commit({ lease, record: exampleRecord({ lease, texts: [text] }) });
  writeSync(1, `${lease.episodeNo} ${hashOf(Buffer.from(text))}\n`);
}

async function markOne(owned: Store, log: string): Promise<void> {
  const [lease] = await owned.claim({ runId, workerId: "child", episodesMax: 1, leaseMs: 600_000 });
  if (lease === undefined) throw new Error("nothing was ready");
  appendFileSync(log, "--- commit\n");
  await owned.commit({ lease, record: exampleRecord({ lease }) });
  appendFileSync(log, "--- answered\n");
}
