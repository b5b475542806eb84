/**
 * The sandbox's own layer as it stood after a turn, packed for the record: what `sandlot episode fork` opens later.
 * Keeping it never disturbs an episode: what is too large, or cannot be had, is left out.
 */
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import type { Sandbox } from "../core/sandbox.ts";

/** Of the tar stream; a larger layer is not kept. */
const LAYER_BYTES_MAX = 64 << 20;

const compress = promisify(zstdCompress);

/** A tar stream in the OCI layer format, compressed with zstd; null when it was too large or the provider has none. */
export async function packLayer(sandbox: Sandbox, bytesMax = LAYER_BYTES_MAX): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of sandbox.exportLayer()) {
      bytes += chunk.length;
      if (bytes > bytesMax) return null;
      chunks.push(chunk);
    }
    return await compress(Buffer.concat(chunks));
  } catch {
    return null;
  }
}
