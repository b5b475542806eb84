/** The filters of a bwrap sandbox: whole programs for both machines, that decide as their lists say. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findCompiler } from "../../../native/build.ts";
import { seccompPrograms } from "./seccomp.ts";
import { ordinaryCalls } from "./seccomp-ordinary.ts";

/** Prints the lists of the helper, as the machine's compiler numbers them. */
const LISTS = `#include "seccomp.c"
#include "seccomp-allowed.c"
#include <stdio.h>
int main(void) {
  for (size_t at = 0; at < sizeof DENIED / sizeof *DENIED; at++) printf("denied %d\\n", DENIED[at]);
  for (size_t at = 0; at < sizeof ORDINARY / sizeof *ORDINARY; at++) printf("ordinary %d\\n", ORDINARY[at]);
}`;

const ALLOWED = 0x7fff_0000;
const refused = (error: number): number => 0x0005_0000 + error;
const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno;

interface Call {
  readonly audit?: number;
  readonly number: number;
  /** The lower halves of its arguments, then, of the third, the upper one. */
  readonly arguments?: readonly number[];
  readonly upperOfThird?: number;
}

const X64 = 0xc000_003e;

/** Runs a program as the kernel would, and throws where it would be refused: a jump or an end out of bounds. */
function decide(program: Buffer, call: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number, 0);
  data.writeUInt32LE(call.audit ?? X64, 4);
  for (const [index, value] of (call.arguments ?? []).entries()) data.writeUInt32LE(value, 16 + index * 8);
  data.writeUInt32LE(call.upperOfThird ?? 0, 36);
  for (let at = 0, held = 0; at * 8 < program.length; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean): number => program.readUInt8(at * 8 + (isTrue ? 2 : 3));
    if (code === 0x20) held = data.readUInt32LE(value);
    else if (code === 0x15) at += jump(held === value);
    else if (code === 0x35) at += jump(held >= value);
    else if (code === 0x45) at += jump((held & value) !== 0);
    else return value;
  }
  throw new Error("the program ran out of its end");
}

test("the agent's filter refuses what it lists, whatever its arguments, and lets ordinary calls be", () => {
  const { agent } = seccompPrograms("x64");
  for (const number of [272, 165, 321, 206, 467, 156])
    expect(decide(agent, { number }), `${number}`).toBe(refused(EPERM));
  for (const number of [0, 1, 59, 302]) expect(decide(agent, { number }), `${number}`).toBe(ALLOWED);
  expect(decide(agent, { number: 0, audit: 0x4000_0003 })).toBe(refused(ENOSYS));
  expect(decide(agent, { number: 0x4000_0000 })).toBe(refused(ENOSYS));
});

test("arguments decide where a call is ordinary with others", () => {
  const { agent } = seccompPrograms("x64");
  const answer = (number: number, ...given: number[]): number => decide(agent, { number, arguments: given });
  expect(answer(56, 0x1000_0011)).toBe(refused(EPERM));
  expect(answer(56, 0x11)).toBe(ALLOWED);
  expect(answer(16, 0, 0x5412)).toBe(refused(EPERM));
  expect(answer(16, 0, 0x5413)).toBe(ALLOWED);
  for (const family of [1, 2, 10]) expect(answer(41, family)).toBe(ALLOWED);
  for (const family of [17, 38, 40]) expect(answer(41, family)).toBe(refused(EAFNOSUPPORT));
  expect(answer(41, 16, 3, 0)).toBe(ALLOWED);
  expect(answer(41, 16, 3, 4)).toBe(refused(EAFNOSUPPORT));
  expect(answer(302, 1)).toBe(refused(EPERM));
  expect(answer(141, 0, 1)).toBe(refused(EPERM));
  expect(answer(141, 2, 5)).toBe(refused(EPERM));
  expect(answer(141, 0, 5)).toBe(ALLOWED);
});

test("a command can ask for its limits, and change all but the two that are kept", () => {
  const { command } = seccompPrograms("x64");
  const limit = (kind: number, lower: number, upper = 0): number =>
    decide(command, { number: 302, arguments: [0, kind, lower], upperOfThird: upper });
  for (const kind of [4, 15]) {
    expect(limit(kind, 0)).toBe(ALLOWED);
    expect(limit(kind, 8)).toBe(refused(0));
    expect(limit(kind, 0, 1)).toBe(refused(0));
    expect(decide(command, { number: 160, arguments: [kind] })).toBe(refused(0));
  }
  expect(limit(7, 8)).toBe(ALLOWED);
  expect(decide(command, { number: 160, arguments: [7] })).toBe(ALLOWED);
  expect(decide(command, { number: 435 })).toBe(refused(ENOSYS));
});

test.each(["x64", "arm64"] as const)(
  "the strict profile passes exactly what is listed or refused elsewhere, on %s",
  (machine) => {
    const { strictCommand } = seccompPrograms(machine);
    const ordinary = ordinaryCalls(machine);
    const clone3 = 435;
    expect(ordinary.size).toBeGreaterThan(200);
    for (const number of ordinary)
      if (number !== clone3) expect(decide(strictCommand, { number }), `${number}`).toBe(ALLOWED);
    /* Landlock, memory protection keys and what no kernel has yet. */
    for (const number of [444, machine === "x64" ? 329 : 288, 500, 511, 5_000])
      expect(decide(strictCommand, { number }), `${number}`).toBe(refused(ENOSYS));
  },
);

test("an architecture whose numbers are not known is refused by name", () => {
  expect(() => seccompPrograms("riscv64")).toThrow(/riscv64/);
});

test("the helper and the fallback refuse the same calls, and find the same ones ordinary", async ({ skip }) => {
  if (process.arch !== "x64" && process.arch !== "arm64") skip("the lists have numbers for x64 and arm64 only");
  const folder = await mkdtemp(join(tmpdir(), "sandlot-seccomp-"));
  try {
    await writeFile(join(folder, "lists.c"), LISTS);
    const helper = join(import.meta.dirname, "../../../native/helper");
    execFileSync(findCompiler([]), ["-std=gnu11", `-I${helper}`, "-o", join(folder, "lists"), join(folder, "lists.c")]);
    const lines = execFileSync(join(folder, "lists"), { encoding: "utf8" }).trim().split("\n");
    const numbers = (list: string): number[] =>
      lines.filter((line) => line.startsWith(`${list} `)).map((line) => Number(line.split(" ")[1]));
    const { agent } = seccompPrograms(process.arch);
    const audit = process.arch === "x64" ? X64 : 0xc000_00b7;
    const denied = Array.from({ length: 512 }, (_, number) => number).filter(
      (number) => decide(agent, { audit, number }) === refused(EPERM),
    );
    expect(denied).toEqual(numbers("denied").toSorted((a, b) => a - b));
    const ordinary = [...ordinaryCalls(process.arch === "x64" ? "x64" : "arm64")];
    const byNumber = (a: number, b: number): number => a - b;
    expect(ordinary.toSorted(byNumber)).toEqual([...new Set(numbers("ordinary"))].toSorted(byNumber));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
