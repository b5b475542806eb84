/** The private socket of a test's process to its runner: messages of a length and JSON, written and read in order. */
import { readSync, writeSync } from "node:fs";

const LINK = 3;
const HEAD_BYTES = 4;

/** Returns when the runner has it, so that nothing is lost when the process ends in the next moment. */
export function send(message) {
  const body = Buffer.from(JSON.stringify(message), "utf8");
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(body.length);
  const bytes = Buffer.concat([head, body]);
  for (let at = 0; at < bytes.length; ) at += writeSync(LINK, bytes, at);
}

/** Asks the runner and waits for its answer; tests of one file therefore ask one after the other. */
export function ask(request) {
  send({ kind: "ask", request });
  return JSON.parse(exactly(exactly(HEAD_BYTES).readUInt32BE(0)).toString("utf8"));
}

function exactly(count) {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count; ) {
    const read = readSync(LINK, bytes, at, count - at);
    if (read === 0) throw new Error("the runner is gone");
    at += read;
  }
  return bytes;
}
