/** What makes an image out of a reference. The store asks for the inputs, and builds only when it has nothing for them. */
import type { ImageReference } from "../../core/sandbox.ts";
import type { PackagePin } from "./package-lock.ts";
import type { Unpacker } from "./unpack.ts";

export interface BuildContext {
  /** The tree in the making; a source lays its archives into it. */
  readonly tree: Unpacker;
  /** Folder of the tree, for what is added after the archives. */
  readonly root: string;
  /** An empty folder for the tools' own files, removed after the build. */
  readonly workFolder: string;
  /** Host id of the sandbox's root. */
  readonly rootId: number;
  readonly log: string;
  readonly signal: AbortSignal | undefined;
  /** Versions that an earlier build of this reference had, which this one must have too; null for the first. */
  readonly pins: readonly PackagePin[] | null;
  onStep(text: string): void;
  onLine(text: string): void;
}

export interface BuiltImage {
  readonly envVars: Readonly<Record<string, string>>;
  readonly workdir: string | null;
  /** The versions it was made of, where it was made of packages. */
  readonly pins: readonly PackagePin[] | null;
}

export const PLAIN: BuiltImage = { envVars: {}, workdir: null, pins: null };

export interface ImageSource {
  /** The reference with what may be said in several ways said in one. */
  readonly reference: ImageReference;
  /** Equal inputs make an equal image. A source that cannot tell says the same always, and is looked at again on demand. */
  inputs(signal: AbortSignal | undefined): Promise<string>;
  build(context: BuildContext): Promise<BuiltImage>;
}
