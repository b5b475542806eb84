/** Writes tar archives byte by byte for tests, honest and hostile ones alike. */

export interface FixtureMember {
  readonly path: string;
  /** The header's type letter; default a file, or a folder where the path ends with a slash. */
  readonly type?: string;
  readonly body?: string | Uint8Array;
  readonly link?: string;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly modifiedAt?: number;
  /** Records of a pax header in front of it. */
  readonly pax?: Readonly<Record<string, string>>;
}

/** A whole archive; names are taken as raw bytes (latin1). */
export function tarOf(members: readonly FixtureMember[]): Buffer {
  return Buffer.concat([...members.map(memberBytes), Buffer.alloc(1_024)]);
}

function memberBytes(member: FixtureMember): Buffer {
  const body = Buffer.from(member.body ?? "");
  const type = member.type ?? (member.path.endsWith("/") ? "5" : "0");
  const pax = Object.entries(member.pax ?? {}).map(([key, value]) => paxRecord(key, value));
  const front =
    pax.length === 0 ? [] : [headerBytes({ path: "pax" }, "x", Buffer.concat(pax).length), padded(Buffer.concat(pax))];
  return Buffer.concat([...front, headerBytes(member, type, body.length), padded(body)]);
}

function headerBytes(member: FixtureMember, type: string, size: number): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, at: number, length: number): void => {
    header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
  };
  header.write(member.path.slice(0, 100), 0, "latin1");
  octal(member.mode ?? (type === "5" ? 0o755 : 0o644), 100, 8);
  octal(member.uid ?? 0, 108, 8);
  octal(member.gid ?? 0, 116, 8);
  octal(size, 124, 12);
  octal(member.modifiedAt ?? 1_000_000_000, 136, 12);
  header.write(type, 156, "latin1");
  header.write(member.link ?? "", 157, 100, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  header.fill(0x20, 148, 156);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  header[155] = 0x20;
  return header;
}

function padded(body: Buffer): Buffer {
  return Buffer.concat([body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

/** Its length counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`, "latin1");
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The same bytes cut into pieces of odd sizes. */
export async function* smallChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
