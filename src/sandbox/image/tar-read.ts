/**
 * Reads a tar stream member by member: ustar, GNU long names and numbers, and pax headers. Names are kept as raw bytes,
 * one character per byte (latin1), since a file's name need not be UTF-8 and must come out as it went in. Judges only the
 * format; what may be unpacked is `unpack.ts`.
 */
import { ArchiveError, ByteReader } from "./byte-reader.ts";

export type MemberKind = "file" | "folder" | "symlink" | "hardlink" | "device" | "fifo" | "socket";

export interface ArchiveMember {
  /** Raw bytes, one character each. */
  readonly path: string;
  readonly kind: MemberKind;
  /** Permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds since the epoch. */
  readonly modifiedAt: number;
  /** Target of a symlink or hard link, raw bytes; empty otherwise. */
  readonly link: string;
  /** The bytes of a file; whoever does not read them skips them. */
  readonly body: AsyncIterable<Uint8Array>;
}

const BLOCK = 512;
const PAX_BYTES_MAX = 1 << 20;
const LONG_NAME_BYTES_MAX = 1 << 16;
const KINDS: Readonly<Record<string, MemberKind>> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "3": "device",
  "4": "device",
  "5": "folder",
  "6": "fifo",
};

/** Header facts that come before the member they are about. */
type Extra = Map<string, string>;

/** Reads to the end mark and then drains the source. Throws ArchiveError. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveMember> {
  const reader = new ByteReader(source);
  const global: Extra = new Map();
  let extra: Extra = new Map();
  try {
    for (;;) {
      const header = await reader.take(BLOCK);
      if (header.length === 0) throw new ArchiveError("ends without the end mark of a tar archive; it was cut short");
      if (header.length < BLOCK) throw new ArchiveError("ends inside a header; it was cut short, or is no tar archive");
      if (header.every((byte) => byte === 0)) break;
      checkSum(header);
      const type = String.fromCharCode(header[156] ?? 0);
      const size = numberField(header, 124, 12, "size");
      if (type === "x" || type === "g") {
        const text = await payload(reader, size, PAX_BYTES_MAX, "pax header");
        for (const [key, value] of paxRecords(text)) (type === "g" ? global : extra).set(key, value);
      } else if (type === "L" || type === "K") {
        const text = await payload(reader, size, LONG_NAME_BYTES_MAX, "long name");
        extra.set(type === "L" ? "path" : "linkpath", text.toString("latin1").replace(/\0.*$/s, ""));
      } else {
        yield* memberOf(reader, header, type, new Map([...global, ...extra]));
        extra = new Map();
      }
    }
    for await (const _rest of reader.remaining());
  } finally {
    await reader.close();
  }
}

/** One member; what of its body was not read is skipped when the consumer asks for the next. */
async function* memberOf(
  reader: ByteReader,
  header: Buffer,
  type: string,
  extra: Extra,
): AsyncGenerator<ArchiveMember> {
  const path = extra.get("path") ?? headerName(header);
  const said = shownName(path);
  const kind = KINDS[type];
  if (kind === undefined)
    throw new ArchiveError(`has the member ${said} of type "${printableType(type)}", which is not known here`);
  if ([...extra.keys()].some((key) => key.startsWith("GNU.sparse.")))
    throw new ArchiveError(`has the sparse member ${said}; pack it without --sparse`);
  const link = kind === "symlink" || kind === "hardlink" ? (extra.get("linkpath") ?? textField(header, 157, 100)) : "";
  const size = kind === "file" ? paxNumber(extra, "size", numberField(header, 124, 12, "size")) : 0;
  let left = size;
  const read = async function* (): AsyncGenerator<Uint8Array> {
    while (left > 0) {
      const part = await reader.some(Math.min(left, 1 << 20));
      if (part === null) throw new ArchiveError(`ends inside the member ${said}; it was cut short`);
      left -= part.length;
      yield part;
    }
  };
  yield {
    path,
    kind: kind === "file" && path.endsWith("/") ? "folder" : kind,
    mode: numberField(header, 100, 8, "mode") & 0o7777,
    uid: paxNumber(extra, "uid", numberField(header, 108, 8, "uid")),
    gid: paxNumber(extra, "gid", numberField(header, 116, 8, "gid")),
    size,
    modifiedAt: paxNumber(extra, "mtime", numberField(header, 136, 12, "mtime")),
    link,
    body: read(),
  };
  for await (const _skipped of read());
  await reader.take((BLOCK - (size % BLOCK)) % BLOCK);
}

async function payload(reader: ByteReader, size: number, bytesMax: number, what: string): Promise<Buffer> {
  if (size > bytesMax) throw new ArchiveError(`has a ${what} of ${size} bytes, more than ${bytesMax}`);
  const text = Buffer.from(await reader.take(size));
  if (text.length < size) throw new ArchiveError(`ends inside a ${what}; it was cut short`);
  await reader.take((BLOCK - (size % BLOCK)) % BLOCK);
  return text;
}

/** The sum over the header with the sum's own field read as blanks. */
function checkSum(header: Buffer): void {
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK; at += 1) if (at < 148 || at >= 156) sum += header[at] ?? 0;
  if (sum !== numberField(header, 148, 8, "checksum"))
    throw new ArchiveError("has a header with a wrong checksum; it is damaged, or is no tar archive");
}

/** Octal text, or GNU's base 256 where the first bit is set. */
function numberField(header: Buffer, at: number, length: number, name: string): number {
  const field = header.subarray(at, at + length);
  const first = field[0] ?? 0;
  if (first === 0x80) {
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
    if (Number.isSafeInteger(value)) return value;
  }
  const text = field
    .toString("latin1")
    .replace(/[\0 ]+$/, "")
    .trimStart();
  if (/^[0-7]*$/.test(text)) return text === "" ? 0 : Number.parseInt(text, 8);
  /* A time before 1970 is of no use to anyone; all other numbers must be right. */
  if (name === "mtime" && first === 0xff) return 0;
  throw new ArchiveError(`has a header whose ${name} is no number; it is damaged`);
}

function textField(header: Buffer, at: number, length: number): string {
  return header
    .subarray(at, at + length)
    .toString("latin1")
    .replace(/\0.*$/s, "");
}

/** ustar puts the front of a long name into a second field; GNU's own format has times there. */
function headerName(header: Buffer): string {
  const name = textField(header, 0, 100);
  const prefix = header.subarray(257, 263).toString("latin1") === "ustar\0" ? textField(header, 345, 155) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Records of the form `LENGTH KEY=VALUE\n`, the length counting itself. Values are raw bytes. */
function* paxRecords(bytes: Buffer): Generator<readonly [string, string]> {
  const text = bytes.toString("latin1");
  for (let at = 0; at < text.length; ) {
    const match = /^(\d{1,7}) ([^=]+)=/.exec(text.slice(at, at + 512));
    const length = Number(match?.[1] ?? 0);
    const end = at + length;
    if (match === null || end > text.length || text[end - 1] !== "\n" || length <= match[0].length)
      throw new ArchiveError("has a pax header that cannot be read; it is damaged");
    yield [match[2] ?? "", text.slice(at + match[0].length, end - 1)];
    at = end;
  }
}

function paxNumber(extra: Extra, key: string, otherwise: number): number {
  const text = extra.get(key);
  if (text === undefined) return otherwise;
  const value = Math.floor(Number(text));
  if (text === "" || !Number.isSafeInteger(value) || (value < 0 && key !== "mtime"))
    throw new ArchiveError(`has a pax header whose ${key} is no number; it is damaged`);
  return Math.max(0, value);
}

function printableType(type: string): string {
  return /^[\x21-\x7e]$/.test(type) ? type : `\\x${type.charCodeAt(0).toString(16)}`;
}

/** Raw bytes as a person reads them, for messages. */
export function shownName(path: string): string {
  return JSON.stringify(Buffer.from(path, "latin1").toString("utf8"));
}
