/**
 * The image store: finds or builds the image of a reference, holds it while this process lives, and removes what nobody
 * holds. Layers are immutable folders named by their hash; every change is a rename of something whole under a lock of
 * the kernel's, so any number of processes may share one store and die at any moment.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { buildNative, cacheFolder } from "../../../native/build.ts";
import { Failure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { ImageReference } from "../../core/sandbox.ts";
import { buildHostImage } from "../host-image.ts";
import { userIds } from "../user-ids.ts";
import { buildFromSource } from "./build-image.ts";
import { keepTree, variantName, withBuildFolder } from "./build-tree.ts";
import { ArchiveError } from "./byte-reader.ts";
import { layLayer } from "./derive-layer.ts";
import { heldImages, hold, letGo, processToken } from "./hold.ts";
import {
  type ImageOwnership,
  type ImageStore,
  LAYERS_MAX,
  type ResolvedImage,
  type ResolveOptions,
  type StoredImage,
} from "./image-contract.ts";
import type { ImageSource } from "./image-source.ts";
import { lockText } from "./package-lock.ts";
import { sourceOf } from "./parse-reference.ts";
import { recipeFolders } from "./recipe.ts";
import { collectGarbage, removeImage, verifyImage } from "./store-care.ts";
import { namingStore } from "./store-failure.ts";
import { withLock } from "./store-lock.ts";
import { holdIfThere, type StoreParts } from "./store-parts.ts";
import { type ImageRecord, StoreRecords } from "./store-records.ts";

export interface ImageStoreOptions {
  readonly runtime: Runtime;
  /** Default `images` in the user's cache. */
  readonly folder?: string;
  /** Default what this process's user can give its sandboxes. */
  readonly ownership?: ImageOwnership;
  /** Looked through in order; default `images` of the working folder, then those that come with Sandlot. */
  readonly recipeFolders?: readonly string[];
  /** Default the variable SANDLOT_SNAPSHOT_MIRROR. */
  readonly snapshotMirror?: string | null;
}

function ownershipOfUser(): ImageOwnership {
  const { base, kind } = userIds();
  return { base, isSingle: kind === "self" };
}

/** Opens without writing anything; folders are made by the first build. */
export function openImageStore(options: ImageStoreOptions): ImageStore {
  const { runtime, ownership = ownershipOfUser() } = options;
  const folder = options.folder ?? join(cacheFolder(), "images");
  const parts: StoreParts = {
    runtime,
    folder,
    ownership,
    records: new StoreRecords(folder, variantName(ownership), runtime),
    holdFolder: join(folder, "hold"),
    token: processToken(runtime),
  };
  const sources = {
    recipeFolders: options.recipeFolders ?? recipeFolders(),
    snapshotMirror: options.snapshotMirror ?? process.env["SANDLOT_SNAPSHOT_MIRROR"] ?? null,
  };
  /* What this store has resolved stays so: a run must not see an image change under it. */
  const known = new Map<ImageReference, Promise<ResolvedImage>>();

  return {
    folder,
    resolve: async (reference, asked = {}) => {
      const isFresh = asked.isRefresh === true || asked.isRelock === true;
      for (let before = isFresh ? undefined : known.get(reference); before; before = known.get(reference)) {
        try {
          return await before;
        } catch (error) {
          /* Another caller gave up a build this one still wants. */
          const isOthers = error instanceof Failure && error.code === "cancelled" && asked.signal?.aborted !== true;
          if (!isOthers) throw error;
        }
      }
      const found = namingStore(folder, () => resolveOnce(parts, reference, () => sourceOf(reference, sources), asked));
      known.set(reference, found);
      try {
        return await found;
      } catch (error) {
        if (known.get(reference) === found) known.delete(reference);
        throw error;
      }
    },
    derive: (base, layer) => namingStore(folder, () => derive(parts, base, layer)),
    verify: (name) => namingStore(folder, () => verifyImage(parts, name)),
    lockOf: async ({ reference }) => {
      const pins = parts.records.reference(reference)?.pins ?? null;
      return pins === null ? null : lockText(pins);
    },
    list: async () => listImages(parts),
    remove: (name) => namingStore(folder, () => removeImage(parts, name)),
    gc: (asked) => namingStore(folder, () => collectGarbage(parts, asked.keepBytes)),
    close: async () => {
      known.clear();
      letGo(parts.holdFolder, parts.token);
    },
  };
}

async function resolveOnce(
  parts: StoreParts,
  reference: ImageReference,
  source: () => ImageSource,
  options: ResolveOptions,
): Promise<ResolvedImage> {
  if (reference === "host") return resolveHost(parts);
  const stored = /^sha256:([0-9a-f]{64})$/.exec(reference)?.[1];
  if (stored !== undefined) {
    const record = holdIfThere(parts, stored);
    if (record !== null) return onItsBase(parts, resolved(parts, record, reference), record);
    throw new Failure(
      "image_unavailable",
      `Image "${reference}" is not in the store; "sandlot image list" shows what is.`,
    );
  }
  return findOrBuild(parts, source(), options);
}

async function resolveHost({ runtime, folder }: StoreParts): Promise<ResolvedImage> {
  const ids = userIds();
  const helper = ids.kind === "range" ? (await buildNative("helper")).path : undefined;
  const { folder: skeleton, hash } = buildHostImage(runtime, folder, helper, ids);
  const lowers = [skeleton.slice(folder.length + 1)];
  return { reference: "host", hash, lowers, bindsSystem: true, pinned: false, envVars: {}, workdir: null };
}

async function findOrBuild(parts: StoreParts, source: ImageSource, options: ResolveOptions): Promise<ResolvedImage> {
  const { signal, onEvent } = options;
  const inputs = await source.inputs(signal);
  const find = (): ImageRecord | null => {
    const record = parts.records.reference(source.reference);
    return record?.inputs === inputs ? holdIfThere(parts, record.hash) : null;
  };
  const isFresh = options.isRefresh === true || options.isRelock === true;
  const before = isFresh ? null : find();
  if (before !== null) {
    onEvent?.({ kind: "image-ready", hash: before.hash, isFresh: false });
    return resolved(parts, before, source.reference);
  }
  const lock = {
    runtime: parts.runtime,
    folder: join(parts.folder, "lock"),
    signal,
    onWait: () => onEvent?.({ kind: "step-started", text: "waiting for another process that builds this image" }),
  };
  refuseForeignIds(parts, source.reference);
  return withLock(`${variantName(parts.ownership)} ${source.reference}`, lock, async () => {
    const meanwhile = isFresh ? null : find();
    const record = meanwhile ?? (await buildFromSource(parts, source, inputs, options));
    onEvent?.({ kind: "image-ready", hash: record.hash, isFresh: meanwhile === null });
    return resolved(parts, record, source.reference);
  });
}

function resolved(parts: StoreParts, record: ImageRecord, reference: ImageReference): ResolvedImage {
  const variant = variantName(parts.ownership);
  return {
    reference,
    hash: record.hash,
    lowers: record.layers.map(({ tree }) => `${tree}/${variant}`),
    bindsSystem: false,
    pinned: true,
    envVars: record.envVars,
    workdir: record.workdir,
  };
}

/** Said before a long build rather than at its first file. */
function refuseForeignIds({ ownership }: StoreParts, reference: ImageReference): void {
  const uid = process.geteuid?.() ?? 0;
  if (uid === 0 || (ownership.isSingle && ownership.base === uid)) return;
  throw new Failure(
    "image_unavailable",
    `Image "${reference}" cannot be built for the ids from ${ownership.base} on: only root may give files to other ids. Set SANDLOT_IDS=self, or run as root.`,
  );
}

/** A layer that was put on `host` stands on the machine as it is now, so such an image is not pinned either. */
async function onItsBase(parts: StoreParts, image: ResolvedImage, { isOnHost }: ImageRecord): Promise<ResolvedImage> {
  if (!isOnHost) return image;
  const host = await resolveHost(parts);
  return { ...image, lowers: [...image.lowers, ...host.lowers], bindsSystem: true, pinned: false };
}

/** Of one layer, the tree's own hash; of several, and of any on the host, a hash over theirs. */
export function imageHash(layers: readonly { readonly tree: string }[], isOnHost = false): string {
  const [first] = layers;
  if (layers.length === 1 && first !== undefined && !isOnHost) return first.tree;
  const trees = [...layers.map(({ tree }) => tree), ...(isOnHost ? ["host"] : [])].join("\n");
  return createHash("sha256").update(`sandlot layers 1\n${trees}\n`).digest("hex");
}

/** What a layer on `host` is put on: nothing of the store. */
const EMPTY: ImageRecord = { hash: "", layers: [], isOnHost: true, envVars: {}, workdir: null, createdAt: 0 };

async function derive(
  parts: StoreParts,
  base: ResolvedImage,
  layer: AsyncIterable<Uint8Array>,
): Promise<ResolvedImage> {
  const isHost = base.reference === "host";
  const below = isHost ? { ...EMPTY, hash: base.hash } : parts.records.image(base.hash);
  if (below === null)
    throw new Failure("unsupported", `Image sha256:${base.hash} is not in the store, so nothing can be put on it.`);
  if (below.layers.length >= LAYERS_MAX)
    throw new Failure(
      "request_invalid",
      `Image sha256:${base.hash} has ${below.layers.length} layers already, the most an image may have; start from a fresh one.`,
    );
  const { folder, ownership } = parts;
  return withBuildFolder(parts, async ({ root, workFolder }) => {
    try {
      await layLayer(layer, { root, workFolder, ownership, below: base.lowers.map((name) => join(folder, name)) });
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      throw new Failure("image_unavailable", `The layer to put on sha256:${base.hash} ${error.message}.`, {
        cause: error,
      });
    }
    const record = await commitLayer(parts, root, below);
    return onItsBase(parts, resolved(parts, record, `sha256:${record.hash}`), record);
  });
}

async function commitLayer(parts: StoreParts, root: string, below: ImageRecord): Promise<ImageRecord> {
  const { folder, ownership, records, runtime } = parts;
  return withLock("commit", { runtime, folder: join(folder, "lock") }, async () => {
    const layers = [await keepTree(folder, root, ownership, undefined), ...below.layers];
    const record = { ...below, hash: imageHash(layers, below.isOnHost), layers, createdAt: runtime.now() };
    hold(parts.holdFolder, parts.token, record.hash);
    if (records.image(record.hash) === null) records.writeImage(record);
    return record;
  });
}

function listImages({ records, holdFolder }: StoreParts): readonly StoredImage[] {
  const held = heldImages(holdFolder);
  const references = records.references();
  const images = records.images().map(
    (record): StoredImage => ({
      hash: record.hash,
      references: references.filter(({ hash }) => hash === record.hash).map(({ reference }) => reference),
      layers: record.layers.length,
      bytes: record.layers.reduce((sum, layer) => sum + layer.bytes, 0),
      files: record.layers.reduce((sum, layer) => sum + layer.files, 0),
      createdAt: record.createdAt,
      usedAt: records.usedAt(record.hash),
      holders: held.get(record.hash) ?? 0,
    }),
  );
  return images.sort((a, b) => b.usedAt - a.usedAt);
}
