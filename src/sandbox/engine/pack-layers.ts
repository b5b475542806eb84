/**
 * Packs the layer folders of an image as one tar stream (ustar with pax headers), the form in which engines import a root.
 * Owners are moved down by `idBase`, so that the sandbox's root is root of the image. Devices, FIFOs and sockets are left
 * out; a device 0/0 hides what lies below it, as overlay does it. Paths are held as latin1, one character per byte.
 */
import { createReadStream, lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";

const BLOCK_BYTES = 512;
const KIND = { file: "0", link: "2", folder: "5", pax: "x" } as const;
const ID_MAX = 0o7777777;
const BYTES_MAX = 0o77777777777;
const NAME_BYTES_MAX = 99;

/** The bytes of a path, in what `node:fs` takes. */
function at(layer: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(layer), Buffer.from(`/${path}`, "latin1")]);
}

/** `layers` top first. */
export async function* packLayers(layers: readonly string[], idBase: number): AsyncGenerator<Buffer> {
  yield* packFolder(layers, ".", idBase);
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

async function* packFolder(layers: readonly string[], path: string, idBase: number): AsyncGenerator<Buffer> {
  const [top] = layers;
  if (top === undefined) return;
  yield* header(`${path}/`, KIND.folder, lstatSync(at(top, path)), idBase);
  for (const name of namesIn(layers, path)) {
    const inner = `${path}/${name}`;
    const holders = layersOf(layers, inner);
    const [first] = holders;
    if (first === undefined) continue;
    const full = at(first, inner);
    const info = lstatSync(full);
    if (info.isDirectory()) yield* packFolder(holders, inner, idBase);
    else if (info.isSymbolicLink()) yield* header(inner, KIND.link, info, idBase, readlinkSync(full, "buffer"));
    else if (info.isFile()) yield* packFile(full, inner, info, idBase);
  }
}

function namesIn(layers: readonly string[], path: string): string[] {
  const names = layers.flatMap((layer) => readdirSync(at(layer, path), { encoding: "latin1" }));
  return [...new Set(names)].sort();
}

/** The layers whose entry counts: the topmost, and for folders those below, down to the first that is none. */
function layersOf(layers: readonly string[], path: string): string[] {
  const found: string[] = [];
  for (const layer of layers) {
    const info = lstatSync(at(layer, path), { throwIfNoEntry: false });
    if (info === undefined) continue;
    if (!info.isDirectory()) return found.length > 0 || (info.isCharacterDevice() && info.rdev === 0) ? found : [layer];
    found.push(layer);
  }
  return found;
}

async function* packFile(full: Buffer, path: string, info: Stats, idBase: number): AsyncGenerator<Buffer> {
  yield* header(path, KIND.file, info, idBase);
  let sent = 0;
  for await (const chunk of createReadStream(full)) {
    sent += (chunk as Buffer).length;
    yield chunk as Buffer;
  }
  if (sent !== info.size) throw new Error(`${full} changed while it was packed: ${sent} bytes instead of ${info.size}`);
  const rest = (BLOCK_BYTES - (sent % BLOCK_BYTES)) % BLOCK_BYTES;
  if (rest > 0) yield Buffer.alloc(rest);
}

/** One entry's header, and before it a pax header for what the old fields cannot hold. */
function* header(path: string, kind: string, info: Stats, idBase: number, link?: Buffer): Generator<Buffer> {
  const name = Buffer.from(path === "./" ? path : path.replace(/^\.\//, ""), "latin1");
  const uid = Math.max(0, info.uid - idBase);
  const gid = Math.max(0, info.gid - idBase);
  const bytes = kind === KIND.file ? info.size : 0;
  const long: [string, Buffer][] = [];
  if (name.length > NAME_BYTES_MAX) long.push(["path", name]);
  if (link !== undefined && link.length > NAME_BYTES_MAX) long.push(["linkpath", link]);
  if (bytes > BYTES_MAX) long.push(["size", Buffer.from(String(bytes))]);
  if (uid > ID_MAX) long.push(["uid", Buffer.from(String(uid))]);
  if (gid > ID_MAX) long.push(["gid", Buffer.from(String(gid))]);
  if (long.length > 0) yield* pax(long);
  yield block(name, kind, info.mode & 0o7777, uid, gid, bytes, info.mtimeMs, link);
}

function* pax(values: readonly [string, Buffer][]): Generator<Buffer> {
  const body = Buffer.concat(values.map(([key, value]) => paxRecord(key, value)));
  yield block(Buffer.from("pax"), KIND.pax, 0o644, 0, 0, body.length, 0);
  yield Buffer.concat([body, Buffer.alloc((BLOCK_BYTES - (body.length % BLOCK_BYTES)) % BLOCK_BYTES)]);
}

/** "LENGTH key=value\n", where the length counts itself. */
function paxRecord(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from("\n")]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function block(
  name: Buffer,
  kind: string,
  mode: number,
  uid: number,
  gid: number,
  bytes: number,
  modifiedMs: number,
  link?: Buffer,
): Buffer {
  const made = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, width: number): void => {
    made.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at, "latin1");
  };
  name.copy(made, 0, 0, NAME_BYTES_MAX);
  octal(mode, 100, 8);
  octal(Math.min(uid, ID_MAX), 108, 8);
  octal(Math.min(gid, ID_MAX), 116, 8);
  octal(Math.min(bytes, BYTES_MAX), 124, 12);
  octal(Math.max(0, Math.floor(modifiedMs / 1000)), 136, 12);
  made.fill(" ", 148, 156);
  made.write(kind, 156, "latin1");
  link?.copy(made, 157, 0, NAME_BYTES_MAX);
  made.write("ustar\x0000", 257, "latin1");
  const sum = made.reduce((total, byte) => total + byte, 0);
  made.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return made;
}
