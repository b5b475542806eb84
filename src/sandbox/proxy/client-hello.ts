/**
 * Reads the first message of a TLS client, as far as it tells which host is meant. Nothing is decrypted or changed. A
 * message that is cut over several records is put together; anything unusual is no honest client's and is refused.
 */

export type ClientHello =
  | { readonly kind: "incomplete" }
  | { readonly kind: "not_tls" }
  /** `name` is null where the client names no host; `isHidden` where it encrypts the real one (ECH). */
  | { readonly kind: "hello"; readonly name: string | null; readonly isHidden: boolean };

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ENCRYPTED_CLIENT_HELLO = 0xfe0d;
const RECORD_BYTES_MAX = 16_384;
/** Of the whole first message, as it is read. */
const HELLO_BYTES_MAX = 65_536;

const NOT_TLS: ClientHello = { kind: "not_tls" };
const INCOMPLETE: ClientHello = { kind: "incomplete" };

/** Reads the start of a TLS connection; `bytes` is all that has come so far. */
export function readClientHello(bytes: Buffer): ClientHello {
  const parts: Buffer[] = [];
  let have = 0;
  let wanted = 4;
  for (let at = 0; have < wanted; ) {
    if (bytes.length > at && bytes[at] !== HANDSHAKE) return NOT_TLS;
    if (bytes.length > at + 1 && bytes[at + 1] !== 3) return NOT_TLS;
    if (bytes.length < at + 5) return bytes.length >= HELLO_BYTES_MAX ? NOT_TLS : INCOMPLETE;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > RECORD_BYTES_MAX) return NOT_TLS;
    const record = bytes.subarray(at + 5, at + 5 + length);
    parts.push(record);
    have += record.length;
    if (wanted === 4 && have >= 4) {
      const head = Buffer.concat(parts);
      if (head[0] !== CLIENT_HELLO) return NOT_TLS;
      wanted = 4 + head.readUIntBE(1, 3);
      if (wanted > HELLO_BYTES_MAX) return NOT_TLS;
    }
    if (record.length < length && have < wanted) return INCOMPLETE;
    at += 5 + length;
  }
  try {
    return readExtensions(Buffer.concat(parts).subarray(4, wanted));
  } catch (error) {
    if (error instanceof RangeError) return NOT_TLS;
    throw error;
  }
}

/** Throws a RangeError where a length leads out of the message. */
function readExtensions(body: Buffer): ClientHello {
  let at = 2 + 32;
  at += 1 + body.readUInt8(at);
  at += 2 + body.readUInt16BE(at);
  at += 1 + body.readUInt8(at);
  if (at === body.length) return { kind: "hello", name: null, isHidden: false };
  const end = at + 2 + body.readUInt16BE(at);
  if (end !== body.length) return NOT_TLS;
  at += 2;
  let name: string | null = null;
  let isHidden = false;
  while (at < end) {
    const type = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    const content = body.subarray(at + 4, at + 4 + length);
    if (content.length !== length) return NOT_TLS;
    if (type === ENCRYPTED_CLIENT_HELLO) isHidden = true;
    if (type === SERVER_NAME) {
      if (name !== null) return NOT_TLS;
      name = readServerName(content);
      if (name === null) return NOT_TLS;
    }
    at += 4 + length;
  }
  return { kind: "hello", name, isHidden };
}

/** Exactly one host name, in lower case; null for anything else. */
function readServerName(content: Buffer): string | null {
  if (content.readUInt16BE(0) !== content.length - 2 || content.readUInt8(2) !== 0) return null;
  const length = content.readUInt16BE(3);
  if (length === 0 || length !== content.length - 5) return null;
  const name = content.toString("latin1", 5).toLowerCase();
  return /^[\x21-\x7e]+$/.test(name) ? name : null;
}
