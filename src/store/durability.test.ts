import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { examplePlan } from "../../test/conformance/store-record.ts";
import { systemRuntime } from "../runtime/system.ts";
import { openStore } from "./open-store.ts";

/** Writes down every sync of the process it is loaded into: kill -9 cannot show a sync that is missing. */
const SHIM = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void note(int fd) {
  char link[64], line[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, line, sizeof line - 1);
  int log = open(getenv("SYNC_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (length < 0 || log < 0) abort();
  line[length] = '\\n';
  if (write(log, line, (size_t)length + 1) < 0) abort();
  close(log);
}
int fsync(int fd) { note(fd); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }
int fdatasync(int fd) { note(fd); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd); }
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-durability-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a commit is answered after its pack, the pack's folder and then the log of rows were synced", async () => {
  const data = join(folder, "data");
  const store = await openStore({ folder: data, runtime: systemRuntime(), mode: "owner" });
  await store.createRun({
    runId: "01RUN",
    kind: "train",
    state: "active",
    name: "",
    createdAt: 1,
    recipeHash: "",
    config: "",
  });
  await store.plan("01RUN", examplePlan(2, 1));
  await store.close();

  const shim = join(folder, "shim.so");
  writeFileSync(join(folder, "shim.c"), SHIM);
  execFileSync("cc", ["-shared", "-fPIC", "-o", shim, join(folder, "shim.c"), "-ldl"]);
  const log = join(folder, "syncs");
  const child = join(import.meta.dirname, "store-child-support.ts");
  execFileSync(process.execPath, [child, "mark", data, "01RUN"], {
    env: { ...process.env, LD_PRELOAD: shim, SYNC_LOG: log },
  });

  const between = /--- commit\n([\s\S]*?)--- answered/.exec(readFileSync(log, "utf8"))?.[1] ?? "";
  const synced = between
    .trim()
    .split("\n")
    .map((path) => path.replace(`${data}/`, ""));
  const last = synced.slice(-3);
  expect(last[0]).toMatch(/^objects\/\.temporary\//);
  expect(last.slice(1)).toEqual(["objects/p/default/pack", "sandlot.db-wal"]);
});
