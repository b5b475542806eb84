/** Reads an image reference: which kind of source, and what of it. */

import { Failure } from "../../core/errors.ts";
import { nearestName } from "../../core/naming.ts";
import type { ImageReference } from "../../core/sandbox.ts";
import type { ImageSource } from "./image-source.ts";
import { readRecipe, recipeFile } from "./recipe.ts";
import { debianSource, parseDebian } from "./source-debian.ts";
import { dockerfileSource, engineSource } from "./source-engine.ts";
import { folderSource } from "./source-folder.ts";
import { tarSource } from "./source-tar.ts";

export interface SourceOptions {
  /** Folders of recipes, the first that has a name wins. */
  readonly recipeFolders: readonly string[];
  /** URL of a snapshot mirror with `{date}` in it; null where there is none. */
  readonly snapshotMirror: string | null;
}

const KINDS: Readonly<Record<string, (rest: string, reference: string, options: SourceOptions) => ImageSource>> = {
  debian: (rest, reference, { snapshotMirror }) => debianSource(parseDebian(rest, reference), snapshotMirror),
  recipe: (rest, _reference, { recipeFolders, snapshotMirror }) => {
    const file = recipeFile(rest, recipeFolders);
    return debianSource(readRecipe(file, `recipe:${rest.endsWith(".toml") ? file : rest}`), snapshotMirror);
  },
  oci: (rest) => engineSource(rest),
  dockerfile: (rest) => dockerfileSource(rest),
  folder: (rest) => folderSource(rest),
  tar: (rest) => tarSource(rest),
};

/** Throws `request_invalid` for what is no reference, and what the source says of its own part. */
export function sourceOf(reference: ImageReference, options: SourceOptions): ImageSource {
  const at = reference.indexOf(":");
  const kind = at < 0 ? reference : reference.slice(0, at);
  const rest = at < 0 ? "" : reference.slice(at + 1);
  const make = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (make !== undefined && rest !== "") return make(rest, reference, options);
  const known = ["host", ...Object.keys(KINDS).map((name) => `${name}:`), "sha256:"];
  const nearest = make !== undefined || kind === "sha256" ? null : nearestName(kind, known);
  throw new Failure(
    "request_invalid",
    `Image "${reference}" is no image reference${nearest === null ? "" : ` (did you mean ${nearest}?)`}; write host, debian:SUITE+PACKAGES, recipe:NAME, oci:REF, dockerfile:FOLDER, folder:PATH, tar:PATH or sha256:HASH.`,
  );
}
