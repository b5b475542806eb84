/** A program that owns sandboxes and waits to be killed: for the tests of its death. Prints its helper's pid, then its ids. */
import { readdirSync, readFileSync } from "node:fs";
import { systemRuntime } from "../../src/runtime/system.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { OPTIONS, REQUEST } from "../conformance/sandbox-parts.ts";

const provider = namespaceProvider({ runtime: systemRuntime() });
const never = new AbortController().signal;
const sandboxes = await Promise.all([1, 2, 3].map(() => provider.create(REQUEST, never)));
for (const sandbox of sandboxes) {
  await sandbox.exec("setsid sleep 985 & (trap '' TERM; while :; do sleep 1; done) & true", OPTIONS);
  void sandbox.exec("yes > /dev/null", { ...OPTIONS, timeoutMs: 600_000 }).catch(() => undefined);
}
const helper = readdirSync("/proc").find(
  (entry) =>
    /^\d+$/.test(entry) &&
    statusOf(entry).includes("sandlot-zygote") &&
    statusOf(entry).includes(`PPid:\t${process.pid}\n`),
);
console.log(`${helper} ${sandboxes.map((sandbox) => sandbox.id).join(" ")}`);
setInterval(() => undefined, 1_000);

function statusOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}
