/** Task folders that are wrong in one way each: the refusal must name the file, the field and what to write instead. */
import { expect, test } from "vitest";
import { Failure } from "../core/errors.ts";
import { type Changes, withFolder } from "./folder-fixture-support.ts";
import { MALFORMED } from "./malformed-folder-support.ts";
import { readTaskFolder } from "./read-folder.ts";

async function refusal(changes: Changes): Promise<string> {
  const error = await withFolder(changes, readTaskFolder).catch((thrown: unknown) => thrown);
  if (!(error instanceof Failure)) throw new Error(`expected a Failure, got ${String(error)}`);
  expect(error.code).toBe("task_invalid");
  return error.message;
}

test.each(MALFORMED)(
  "a folder with a fault is refused by file, field and remedy: %s",
  async (_what, changes, parts) => {
    const message = await refusal(changes);
    for (const part of parts) expect(message).toContain(part);
    expect(message).toContain("greet");
    expect(message.split("\n")).toHaveLength(1);
  },
);
