/** What the files of the image store share, and how one of them looks an image up so that it stays. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "../../core/runtime.ts";
import { variantName } from "./build-tree.ts";
import { hold } from "./hold.ts";
import type { ImageOwnership } from "./image-contract.ts";
import type { ImageRecord, StoreRecords } from "./store-records.ts";

/** What the parts of the store share. */
export interface StoreParts {
  readonly runtime: Runtime;
  readonly folder: string;
  readonly ownership: ImageOwnership;
  readonly records: StoreRecords;
  /** Folder of who holds what. */
  readonly holdFolder: string;
  readonly token: string;
}

/**
 * Held first and looked for then, so that a removal in between is seen by one of the two. An image of which somebody
 * deleted a layer by hand counts as missing.
 */
export function holdIfThere(parts: StoreParts, hash: string): ImageRecord | null {
  if (parts.records.image(hash) === null) return null;
  hold(parts.holdFolder, parts.token, hash);
  const record = parts.records.image(hash);
  const variant = variantName(parts.ownership);
  if (record?.layers.every(({ tree }) => existsSync(join(parts.folder, tree, variant))) !== true) return null;
  parts.records.touch(hash);
  return record;
}
