/** Records of the helper's process list. */
import { expect, test } from "vitest";
import { decodeProcesses } from "./process-list.ts";

function record(pid: number, command: Buffer): Buffer {
  const head = Buffer.alloc(32);
  for (const [index, value] of [pid, 1, 1_000, command.length].entries()) head.writeUInt32LE(value, index * 4);
  head.writeBigUInt64LE(2_500n, 16);
  head.writeBigUInt64LE(2n ** 33n, 24);
  return Buffer.concat([head, command]);
}

test("each record is one process, whatever its words hold", () => {
  const bytes = Buffer.concat([record(7, Buffer.from("a b\n")), record(8, Buffer.alloc(0))]);
  expect(decodeProcesses(bytes)).toEqual([
    { pid: 7, parentPid: 1, uid: 1_000, command: "a b\n", cpuMs: 2.5, memoryBytes: 2 ** 33 },
    { pid: 8, parentPid: 1, uid: 1_000, command: "", cpuMs: 2.5, memoryBytes: 2 ** 33 },
  ]);
  expect(decodeProcesses(Buffer.alloc(0))).toEqual([]);
});

test("a list that is cut off is told, and not shortened", () => {
  const bytes = record(7, Buffer.from("sleep"));
  for (const end of [1, 31, bytes.length - 1]) expect(() => decodeProcesses(bytes.subarray(0, end))).toThrow(/cut off/);
});
