/** An image of a tar file: a tree, or an engine's image archive (OCI or Docker), plain or compressed by gzip or zstd. */
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { Failure } from "../../core/errors.ts";
import { decompressed } from "./byte-reader.ts";
import { type BuildContext, type BuiltImage, type ImageSource, PLAIN } from "./image-source.ts";
import { isImageArchive, layImageArchive } from "./oci-archive.ts";
import { readTar } from "./tar-read.ts";

export function tarSource(path: string, kind: "tar" | "oci:oci-archive" | "oci:docker-archive" = "tar"): ImageSource {
  const file = resolve(path);
  const reference = `${kind}:${file}`;
  return {
    reference,
    /* Not the bytes: reading gigabytes to find an image that is there would take longer than a sandbox lives. */
    inputs: async () => {
      const info = statSync(file, { bigint: true, throwIfNoEntry: false });
      if (info === undefined) throw new Failure("image_unavailable", `Image "${reference}": there is no such file.`);
      if (!info.isFile()) throw new Failure("image_unavailable", `Image "${reference}": that is no regular file.`);
      return [info.dev, info.ino, info.size, info.mtimeNs, info.ctimeNs].join(":");
    },
    build: (context) => layTarFile(file, context),
  };
}

export async function layTarFile(file: string, context: BuildContext): Promise<BuiltImage> {
  const plain = await uncompressedArchive(file, context);
  if (plain !== null) return layImageArchive(plain, context);
  context.onStep(`unpacking ${file}`);
  await context.tree.lay(readTar(decompressed(createReadStream(file))));
  return PLAIN;
}

/** The file itself when it is an image archive, or a plain copy of one that is compressed; null for a tree. */
async function uncompressedArchive(file: string, context: BuildContext): Promise<string | null> {
  for await (const member of readTar(decompressed(createReadStream(file)))) {
    const name = member.path.replace(/^\.\//, "");
    if (!/^(oci-layout|index\.json|manifest\.json|repositories|blobs\/|[0-9a-f]{64})/.test(name)) return null;
    break;
  }
  if (!(await isCompressed(file))) return (await isImageArchive(file)) ? file : null;
  const plain = join(context.workFolder, "archive.tar");
  await pipeline(decompressed(createReadStream(file)), createWriteStream(plain));
  return (await isImageArchive(plain)) ? plain : null;
}

async function isCompressed(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    const head = buffer.subarray(0, bytesRead);
    return (head[0] === 0x1f && head[1] === 0x8b) || head.equals(Buffer.from("28b52ffd", "hex"));
  } finally {
    await handle.close();
  }
}
