/** Builds one image from its source: lays the tree, makes it fit for a sandbox, and gives it its place in the store. */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../core/errors.ts";
import { keepTree, withBuildFolder } from "./build-tree.ts";
import { ArchiveError } from "./byte-reader.ts";
import { hold } from "./hold.ts";
import type { ResolveOptions } from "./image-contract.ts";
import type { BuiltImage, ImageSource } from "./image-source.ts";
import { prepareTree } from "./prepare-tree.ts";
import { withLock } from "./store-lock.ts";
import type { StoreParts } from "./store-parts.ts";
import type { ImageRecord } from "./store-records.ts";
import { Unpacker } from "./unpack.ts";

/** Logs of builds; older ones are removed. */
const LOGS_MAX = 20;

/** The caller holds the lock of the reference. Throws `image_unavailable` that names what is at fault. */
export async function buildFromSource(
  parts: StoreParts,
  source: ImageSource,
  inputs: string,
  options: ResolveOptions,
): Promise<ImageRecord> {
  const { runtime, folder, ownership, records } = parts;
  const { signal, onEvent } = options;
  const log = newLog(folder, runtime.id().toLowerCase());
  const onStep = (text: string): void => onEvent?.({ kind: "step-started", text });
  return withBuildFolder(parts, async ({ root, workFolder }) => {
    const tree = new Unpacker(root, { ownership, signal });
    const before = records.reference(source.reference);
    const pins = options.isRelock === true || before?.inputs !== inputs ? null : before.pins;
    const onLine = (text: string): void => onEvent?.({ kind: "tool-said", text, log });
    let built: BuiltImage;
    try {
      const context = { tree, root, workFolder, rootId: ownership.base, log, signal, pins, onStep, onLine };
      built = await source.build(context);
      prepareTree(root, ownership);
      tree.finish();
    } catch (error) {
      throw buildError(error, source.reference);
    }
    onStep("hashing and storing");
    return commit(parts, source, inputs, { ...built, root, signal });
  });
}

/** With the lock of all commits: a removal that looks at the records never sees a layer without its image. */
async function commit(
  { runtime, folder, ownership, records, holdFolder, token }: StoreParts,
  { reference }: ImageSource,
  inputs: string,
  built: BuiltImage & { readonly root: string; readonly signal: AbortSignal | undefined },
): Promise<ImageRecord> {
  return withLock("commit", { runtime, folder: join(folder, "lock"), signal: built.signal }, async () => {
    const layer = await keepTree(folder, built.root, ownership, built.signal);
    const record: ImageRecord = {
      hash: layer.tree,
      layers: [layer],
      isOnHost: false,
      envVars: { ...built.envVars },
      workdir: built.workdir,
      createdAt: records.image(layer.tree)?.createdAt ?? runtime.now(),
    };
    hold(holdFolder, token, record.hash);
    records.writeImage(record);
    const pins = built.pins === null ? null : built.pins.map((pin) => ({ ...pin }));
    records.writeReference({ reference, inputs, hash: record.hash, pins });
    return record;
  });
}

function buildError(error: unknown, reference: string): unknown {
  if (error instanceof Failure) return error;
  if (error instanceof ArchiveError)
    return new Failure("image_unavailable", `Image "${reference}" ${error.message}.`, { cause: error });
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === "AbortError" || code === "ABORT_ERR")
    return new Failure("cancelled", `The build of image "${reference}" was cancelled.`, { cause: error });
  if (code === "ENOSPC" || code === "EDQUOT")
    return new Failure(
      "disk_full",
      `No space is left to build image "${reference}"; free some with "sandlot image gc".`,
      {
        cause: error,
      },
    );
  const text = error instanceof Error ? error.message : String(error);
  return new Failure("image_unavailable", `Image "${reference}" could not be built: ${text}`, { cause: error });
}

function newLog(folder: string, id: string): string {
  const logs = join(folder, "log");
  mkdirSync(logs, { recursive: true });
  const old = readdirSync(logs)
    .map((name) => ({
      path: join(logs, name),
      time: statSync(join(logs, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    }))
    .sort((a, b) => b.time - a.time)
    .slice(LOGS_MAX - 1);
  for (const { path } of old) rmSync(path, { force: true });
  return join(logs, `${id}.log`);
}
