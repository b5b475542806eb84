/** Length-prefixed JSON messages (32 bits, big-endian) between the platform and its trusted runner. */
import { Failure } from "../core/errors.ts";

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

export interface MessageReader {
  /** The messages that became complete. Throws `verifier_report_invalid` for one that is too large or no JSON. */
  push(bytes: Uint8Array): readonly unknown[];
}

export function messageReader(): MessageReader {
  let rest = Buffer.alloc(0);
  return {
    push: (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      const messages: unknown[] = [];
      while (rest.length >= 4) {
        const length = rest.readUInt32BE(0);
        if (length > MESSAGE_BYTES_MAX) throw invalid(`it announces ${length} bytes`);
        if (rest.length < 4 + length) break;
        messages.push(parsed(rest.toString("utf8", 4, 4 + length)));
        rest = rest.subarray(4 + length);
      }
      return messages;
    },
  };
}

export function messageFrame(message: Readonly<Record<string, unknown>>): Uint8Array {
  const body = Buffer.from(JSON.stringify(message), "utf8");
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid("it is no JSON", error);
  }
}

function invalid(why: string, cause?: unknown): Failure {
  return new Failure("verifier_report_invalid", `A request of the test runner is malformed: ${why}.`, { cause });
}
