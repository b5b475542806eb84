/**
 * Names of a sandbox as text. A Linux name is bytes; almost all are UTF-8 and read as what they are. A byte that is not
 * part of valid UTF-8 becomes one lone surrogate, U+DC80 to U+DCFF, so that every name survives the way through text and
 * back, and equal texts are equal names.
 */
import { isUtf8 } from "node:buffer";

const ESCAPE_FIRST = 0xdc80;
const ESCAPE_LAST = 0xdcff;
const ESCAPE_BASE = 0xdc00;

/** The text of a name; never throws. */
export function bytesToName(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString("utf8");
  let text = "";
  for (let at = 0; at < buffer.length; ) {
    const length = characterBytes(buffer, at);
    text +=
      length === 0 ? String.fromCharCode(ESCAPE_BASE + (buffer[at] ?? 0)) : buffer.toString("utf8", at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** How many bytes the valid character at `at` has; 0 when there is none. */
function characterBytes(buffer: Buffer, at: number): number {
  const first = buffer[at] ?? 0;
  const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  return at + length <= buffer.length && isUtf8(buffer.subarray(at, at + length)) ? length : 0;
}

/** The bytes of a name's text. A lone surrogate that stands for no byte becomes U+FFFD, as in any UTF-8. */
export function nameToBytes(name: string): Buffer {
  if (name.isWellFormed()) return Buffer.from(name, "utf8");
  const parts: Buffer[] = [];
  for (const character of name) {
    const code = character.codePointAt(0) ?? 0;
    const isEscape = code >= ESCAPE_FIRST && code <= ESCAPE_LAST;
    parts.push(isEscape ? Buffer.from([code - ESCAPE_BASE]) : Buffer.from(character, "utf8"));
  }
  return Buffer.concat(parts);
}
