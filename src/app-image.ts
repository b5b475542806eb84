/** Images by hand: building, listing, checking and removing what the store of this machine holds. */
import { statSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { runtime } from "./app-parts.ts";
import { Failure } from "./core/errors.ts";
import type { GcReport, ImageEvent, ImageStore, StoredImage, VerifyReport } from "./sandbox/image/image-contract.ts";
import { openImageStore } from "./sandbox/image/image-store.ts";
import { type RecipeSummary, recipeSummaries } from "./sandbox/image/recipe.ts";

export type { GcReport, ImageEvent, RecipeSummary, StoredImage, VerifyReport };

export interface BuildImageOptions {
  /** Looks at the source again where the image is there already. */
  readonly isRefresh: boolean;
  /** Accepts other package versions than an earlier build had. */
  readonly isRelock: boolean;
  /** Where the versions it was made of are written; null for nowhere. */
  readonly lockFile: string | null;
  readonly signal: AbortSignal;
  readonly onEvent: (event: ImageEvent) => void;
}

/** Finds or builds an image. Throws `image_unavailable`, `request_invalid`, `cancelled`. */
export async function buildImage(reference: string, options: BuildImageOptions): Promise<StoredImage> {
  return withStore(async (store) => {
    const image = await store.resolve(reference, options);
    if (options.lockFile !== null) {
      const text = await store.lockOf(image);
      if (text === null)
        throw new Failure(
          "request_invalid",
          `Image "${reference}" is not made of packages, so it has no lock to write.`,
        );
      writeLock(options.lockFile, text);
    }
    const stored = (await store.list()).find(({ hash }) => hash === image.hash);
    if (stored !== undefined) return stored;
    const { hash } = image;
    return { hash, references: [reference], layers: 1, bytes: 0, files: 0, createdAt: 0, usedAt: 0, holders: 1 };
  });
}

function writeLock(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure(
      "request_invalid",
      `The lock cannot be written to ${file} (${code}); name a file in a folder that is there.`,
      {
        cause: error,
      },
    );
  }
}

/** What kind of source a path is: `folder:PATH` or `tar:PATH`. Throws `not_found`. */
export function importReference(path: string): string {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) throw new Failure("not_found", `There is no file or folder ${path} to import.`);
  return `${info.isDirectory() ? "folder" : "tar"}:${resolve(path)}`;
}

export async function listImages(): Promise<readonly StoredImage[]> {
  return withStore((store) => store.list());
}

/** Recipes of the working folder and of Sandlot itself. */
export function listRecipes(): readonly RecipeSummary[] {
  return recipeSummaries();
}

/** Hashes the named images anew, all without a name. Throws `not_found`. */
export async function verifyImages(
  names: readonly string[],
  onReport: (report: VerifyReport) => void,
): Promise<readonly VerifyReport[]> {
  return withStore(async (store) => {
    const all = names.length > 0 ? names : (await store.list()).map(({ hash }) => hash);
    const reports: VerifyReport[] = [];
    for (const name of all) {
      const report = await store.verify(name);
      reports.push(report);
      onReport(report);
    }
    return reports;
  });
}

/** Throws `not_found`, and `sandbox_busy` while a live process uses it. */
export async function removeImages(names: readonly string[]): Promise<readonly GcReport[]> {
  return withStore(async (store) => {
    const reports: GcReport[] = [];
    for (const name of names) reports.push(await store.remove(name));
    return reports;
  });
}

export async function collectImages(keepBytes: number): Promise<GcReport> {
  return withStore((store) => store.gc({ keepBytes }));
}

async function withStore<T>(use: (store: ImageStore) => Promise<T>): Promise<T> {
  const store = openImageStore({ runtime });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
