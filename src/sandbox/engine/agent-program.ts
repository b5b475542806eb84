/** The agent runs in containers that may hold no C library at all, so the helper must be linked statically there. */
import { readFileSync } from "node:fs";
import { Failure } from "../../core/errors.ts";

/** Of a 64-bit ELF file: where the program headers lie, how large and how many they are; a type that names a loader. */
const HEADERS_AT = 32;
const HEADER_BYTES_AT = 54;
const HEADER_COUNT_AT = 56;
const INTERPRETER = 3;

/** Throws `environment_missing` for a program that needs a loader. */
export function requireStatic(path: string): void {
  const program = readFileSync(path);
  const start = Number(program.readBigUInt64LE(HEADERS_AT));
  const bytes = program.readUInt16LE(HEADER_BYTES_AT);
  const types = Array.from({ length: program.readUInt16LE(HEADER_COUNT_AT) }, (_, index) =>
    program.readUInt32LE(start + index * bytes),
  );
  if (!types.includes(INTERPRETER)) return;
  throw new Failure(
    "environment_missing",
    `The sandbox helper ${path} was linked against this machine's C library, so it cannot run in a container. ` +
      "Install a static one, for example: apt-get install libc6-dev; then remove that file.",
  );
}
