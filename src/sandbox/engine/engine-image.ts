/**
 * Image references as images of a container engine. `oci:` names one of the engine's own; everything else is built by
 * this machine, packed once per hash, and imported under that hash; `host` also mounts the machine's system folders, which
 * works only where the engine runs on this machine.
 */
import { lstatSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type Docker from "dockerode";
import { Failure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { ImageReference } from "../../core/sandbox.ts";
import { buildHostImage } from "../host-image.ts";
import type { ImageStore, ResolvedImage } from "../image/image-contract.ts";
import { userIds } from "../user-ids.ts";
import type { EngineClient } from "./engine-client.ts";
import { LABEL } from "./labels.ts";
import { packLayers } from "./pack-layers.ts";

/** Under which images of this machine are imported. */
export const REPOSITORY = "localhost/sandlot";
const TAG_CHARACTERS = 32;

/** An image as containers are made of it. */
export interface EngineImage {
  /** The engine's own id of it. */
  readonly id: string;
  readonly hash: string;
  readonly mounts: Docker.MountSettings[];
  /** Variables that the image's maker set. */
  readonly envVars: Readonly<Record<string, string>>;
  /** Where its maker wants commands to run. */
  readonly workdir: string | null;
}

/** Each reference is looked up or imported once. */
export interface EngineImages {
  /** Throws `image_unavailable` and `request_invalid`. */
  resolve(reference: ImageReference, signal: AbortSignal): Promise<EngineImage>;
  /** Looks at the engine anew next time: someone else may have removed the image there. */
  forget(reference: ImageReference): void;
}

export interface EngineImagesOptions {
  readonly runtime: Runtime;
  readonly client: EngineClient;
  /** Token of this process. */
  readonly owner: string;
  /** Builds all references but `host` and `oci:`; without it those are unavailable. */
  readonly store: ImageStore | null;
}

/** Asks the engine for nothing before the first reference. */
export function engineImages(options: EngineImagesOptions): EngineImages {
  const known = new Map<ImageReference, Promise<EngineImage>>();
  return {
    resolve: async (reference, signal) => {
      for (let found = known.get(reference); found !== undefined; found = known.get(reference)) {
        try {
          return await found;
        } catch (error) {
          /* Another caller gave up an image this one still wants. */
          const isOthers = error instanceof Failure && error.code === "cancelled" && !signal.aborted;
          if (!isOthers) throw error;
          if (known.get(reference) === found) known.delete(reference);
        }
      }
      const resolving = resolveOne(options, reference, signal);
      known.set(reference, resolving);
      /* A failure is not remembered: the next request may find the registry or the disk again. */
      resolving.catch(() => known.delete(reference));
      return resolving;
    },
    forget: (reference) => void known.delete(reference),
  };
}

async function resolveOne(
  options: EngineImagesOptions,
  reference: ImageReference,
  signal: AbortSignal,
): Promise<EngineImage> {
  if (reference === "host") return hostImage(options);
  if (reference.startsWith("oci:")) return ownImage(options.client, reference.slice("oci:".length), signal);
  if (options.store === null || !/^(sha256|debian|dockerfile|folder|tar|recipe):/.test(reference))
    throw new Failure(
      "image_unavailable",
      `Image "${reference}" is unknown to the container provider; use "host", "oci:REF" or an image of the store.`,
    );
  const resolved = await options.store.resolve(reference, { signal });
  return storeImage(options.client, options.store, resolved);
}

/** What the engine has or can pull under its own name. */
async function ownImage(client: EngineClient, name: string, signal: AbortSignal): Promise<EngineImage> {
  let found = await client.findImage(name);
  if (found === null) {
    await client.pullImage(name, signal);
    found = await client.findImage(name);
  }
  if (found === null)
    throw new Failure("image_unavailable", `The container engine has no image "${name}", also after a pull.`);
  const variables = (found.config?.Env ?? []).map((line) => {
    const equals = line.indexOf("=");
    return [line.slice(0, equals), line.slice(equals + 1)] as const;
  });
  return {
    id: found.id,
    hash: found.id.replace(/^sha256:/, ""),
    mounts: [],
    envVars: Object.fromEntries(variables),
    workdir: found.config?.WorkingDir || null,
  };
}

async function storeImage(client: EngineClient, store: ImageStore, resolved: ResolvedImage): Promise<EngineImage> {
  const lowers = resolved.lowers.map((name) => join(store.folder, name));
  const id = await imported(client, resolved.hash, lowers);
  return { id, hash: resolved.hash, mounts: [], envVars: resolved.envVars, workdir: resolved.workdir };
}

async function hostImage(options: EngineImagesOptions): Promise<EngineImage> {
  const { runtime, client } = options;
  await requireLocal(options);
  const { folder, hash } = buildHostImage(runtime);
  const id = await imported(client, hash, [folder]);
  return { id, hash, mounts: systemMounts(), envVars: {}, workdir: null };
}

/** Imports layers as one image under their hash, unless the engine has it. */
async function imported(client: EngineClient, hash: string, lowers: readonly string[]): Promise<string> {
  const tag = hash.replace(/^sha256:/, "").slice(0, TAG_CHARACTERS);
  const found = await client.findImage(`${REPOSITORY}:${tag}`);
  if (found !== null) return found.id;
  return client.importImage(Readable.from(packLayers(lowers, userIds().base)), REPOSITORY, tag);
}

const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** On merged-usr machines only /usr is a folder; the others are links of the image. */
function systemMounts(): Docker.MountSettings[] {
  return SYSTEM_FOLDERS.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory()).map((path) => ({
    Type: "bind",
    Source: path,
    Target: path,
    ReadOnly: true,
  }));
}

/** A folder made this moment under a random name is seen only by an engine on this machine. */
async function requireLocal({ runtime, client, owner }: EngineImagesOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sandlot-engine-"));
  try {
    const nonce = Buffer.from(runtime.randomBytes(16)).toString("hex");
    writeFileSync(join(folder, nonce), "");
    const probe = await client.importImage(Readable.from(packLayers([folder], 0)), REPOSITORY, "empty");
    const id = await client.createContainer(null, {
      Image: probe,
      Entrypoint: ["/none"],
      Labels: { [LABEL.owner]: owner, [LABEL.machine]: hostname() },
      HostConfig: {
        NetworkMode: "none",
        Mounts: [{ Type: "bind", Source: join(folder, nonce), Target: "/none", ReadOnly: true }],
      },
    });
    await client.remove(id);
  } catch (cause) {
    throw new Failure(
      "image_unavailable",
      'Image "host" needs a container engine on this machine, and this one does not see its files; use "oci:REF".',
      { cause },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
