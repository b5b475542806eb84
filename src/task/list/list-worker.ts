/** A thread that reads task folders: takes a list of them, answers with their entries, and waits for the next list. */
import { parentPort } from "node:worker_threads";
import { taskEntry } from "./task-entry.ts";

parentPort?.on("message", async (folders: readonly string[]) => {
  const entries = [];
  for (const folder of folders) entries.push(await taskEntry(folder));
  parentPort?.postMessage(entries);
});
