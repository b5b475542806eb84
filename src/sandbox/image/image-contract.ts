/**
 * What the image store promises to the providers. An image is an immutable list of layer folders in the store, named by
 * the hash of all that is in them; a provider mounts them read-only under a sandbox's own layer and never writes to them.
 */
import type { ImageReference } from "../../core/sandbox.ts";

/** To whom the files of a stored image belong on this machine; overlay in a user namespace works on such files alone. */
export interface ImageOwnership {
  /** Host id of the sandbox's root: 100000 in root mode, the first sub-id, or the user's own id. */
  readonly base: number;
  /** Only `base` itself can be used: every file belongs to it. */
  readonly isSingle: boolean;
}

export interface ResolvedImage {
  readonly reference: ImageReference;
  /** Covers names, modes, ids, links and bytes of every layer; of `host` the skeleton and the system's versions. */
  readonly hash: string;
  /** Layer folders, top first, relative to the store's folder. At most `LAYERS_MAX`. */
  readonly lowers: readonly string[];
  /** Whether the machine's own /usr and kin are bound over it: true for `host` and what was put on it. */
  readonly bindsSystem: boolean;
  /** Whether `hash` covers every byte a sandbox on it can read: false for `host` and what was put on it. */
  readonly pinned: boolean;
  /** Variables and work folder that the image's maker set; a request's own win. */
  readonly envVars: Readonly<Record<string, string>>;
  readonly workdir: string | null;
}

/** Layers of one stored image; a derived image that would have more is flattened into one. */
export const LAYERS_MAX = 32;

/** One thing worth telling a person who waits for a build. */
export type ImageEvent =
  | { readonly kind: "step-started"; readonly text: string }
  /** The last line a tool said, and where its log is. */
  | { readonly kind: "tool-said"; readonly text: string; readonly log: string }
  | { readonly kind: "image-ready"; readonly hash: string; readonly isFresh: boolean };

export interface ResolveOptions {
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ImageEvent) => void;
  /** Looks at the source again where a reference was built before: an `oci:` name may have moved. */
  readonly isRefresh?: boolean;
  /** Builds anew and accepts other package versions than an earlier build had. */
  readonly isRelock?: boolean;
}

/** An image as `sandlot image list` shows it. */
export interface StoredImage {
  readonly hash: string;
  readonly references: readonly ImageReference[];
  readonly layers: number;
  /** Bytes of regular files in its layers, those shared with other images included. */
  readonly bytes: number;
  readonly files: number;
  readonly createdAt: number;
  readonly usedAt: number;
  /** Of live processes that hold it. */
  readonly holders: number;
}

export interface VerifyReport {
  readonly hash: string;
  readonly isIntact: boolean;
  /** Layers whose folder is missing or hashes to another value. */
  readonly changed: readonly string[];
}

export interface GcReport {
  readonly removed: readonly string[];
  readonly kept: readonly string[];
  readonly bytesFreed: number;
}

export interface ImageStore {
  /** Folder in which `lowers` lie. */
  readonly folder: string;
  /**
   * Finds or builds the image of a reference and holds it for this process, so that no removal takes it away. Quick when
   * it was resolved before by this store. Processes that build the same image at once build it once.
   * Throws `image_unavailable` with the failing line, package or member and the log's path; `request_invalid` for a
   * malformed reference; `cancelled`.
   */
  resolve(reference: ImageReference, options?: ResolveOptions): Promise<ResolvedImage>;
  /**
   * The image with one layer on top: a tar stream in the OCI layer format (whiteouts as `.wh.NAME`), as
   * `Sandbox.exportLayer` gives it. Held like a resolved one; its reference is `sha256:HASH`.
   * Throws `image_unavailable` naming the member when the layer is malformed.
   */
  derive(base: ResolvedImage, layer: AsyncIterable<Uint8Array>): Promise<ResolvedImage>;
  /** Hashes every layer of an image anew, named by hash, the beginning of one, or a reference. Throws `not_found`. */
  verify(name: string): Promise<VerifyReport>;
  /** The versions of the packages an image is made of, a line each; null for one that is not made of packages. */
  lockOf(image: ResolvedImage): Promise<string | null>;
  list(): Promise<readonly StoredImage[]>;
  /** Removes one image by hash or reference. Throws `not_found`, and `sandbox_busy` while a live process holds it. */
  remove(name: string): Promise<GcReport>;
  /** Removes images, least recently used first, until at most `keepBytes` are left; never one that is held. */
  gc(options: { readonly keepBytes: number }): Promise<GcReport>;
  /** Lets go of every image this process holds. Idempotent. */
  close(): Promise<void>;
}
