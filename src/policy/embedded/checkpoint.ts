/**
 * Checkpoints: a folder with `model.safetensors`, `optimizer.safetensors` (both Adam moments) and `state.json`, which
 * names the SHA-256 of the other two. It is written under a temporary name, synced and renamed, so it is whole or
 * absent. Loading checks everything before it changes anything.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../core/errors.ts";
import { canonicalJson } from "../../core/json.ts";
import type { Tokenizer } from "../../core/policy.ts";
import type { CheckpointRef, PolicyTrainer } from "../../core/policy-backend.ts";
import type { Runtime } from "../../core/runtime.ts";
import { decodeSafetensors, encodeSafetensors, type Tensor } from "../safetensors.ts";
import type { Engine } from "./engine.ts";
import { fillFromTensors, type ModelShape, tensorsOf } from "./shape.ts";
import { weightsSha256 } from "./snapshots.ts";

const FORMAT = 1;
const MODEL_FILE = "model.safetensors";
const OPTIMIZER_FILE = "optimizer.safetensors";
const STATE_FILE = "state.json";
const MOMENTS = ["moment1.", "moment2."] as const;

interface StateFile {
  readonly format: number;
  readonly shape: ModelShape;
  readonly tokenizer: ReturnType<Tokenizer["toJson"]>;
  readonly tokenizerSha256: string;
  readonly version: number;
  /** Optimizer steps: Adam's counter. */
  readonly step: number;
  readonly threads: number;
  readonly build: string;
  readonly weightsSha256: string;
  readonly files: Readonly<Record<string, string>>;
  readonly state: unknown;
}

export interface CheckpointOptions {
  readonly engine: Engine;
  readonly shape: ModelShape;
  readonly tokenizer: Tokenizer;
  /** Created when absent. */
  readonly folder: string;
  readonly runtime: Runtime;
}

/** Save and load of `PolicyTrainer`. */
export function checkpoints(options: CheckpointOptions): Pick<PolicyTrainer, "save" | "load"> {
  return {
    save: (name, version, state) => save(options, name, version, state),
    load: (name, { optimizer }) => load(options, name, optimizer),
  };
}

interface Weights {
  readonly flat: Float32Array;
  readonly moments: readonly [Float32Array, Float32Array];
  readonly step: number;
}

async function save(options: CheckpointOptions, name: string, version: number, state: unknown): Promise<CheckpointRef> {
  const { engine, shape, tokenizer, folder, runtime } = options;
  const target = folderOf(options, name);
  const weights = await engine.use((addon, handle): Weights => {
    const read = (place: number): Float32Array => {
      const flat = new Float32Array(engine.parameters);
      addon.copy(handle, place, flat, false);
      return flat;
    };
    return { flat: read(0), moments: [read(1), read(2)], step: addon.describe(handle).adamStep };
  });
  const model = encodeSafetensors(tensorsOf(shape, tokenizer.size, weights.flat), { format: "sandlot" });
  const optimizer = encodeSafetensors(
    MOMENTS.flatMap((prefix, index) =>
      tensorsOf(shape, tokenizer.size, weights.moments[index] ?? weights.flat).map((tensor) => ({
        ...tensor,
        name: prefix + tensor.name,
      })),
    ),
  );
  const sha256 = weightsSha256(weights.flat);
  const file: StateFile = {
    format: FORMAT,
    shape,
    tokenizer: tokenizer.toJson(),
    tokenizerSha256: tokenizer.sha256,
    version,
    step: weights.step,
    threads: engine.config.threads,
    build: engine.build,
    weightsSha256: sha256,
    files: { [MODEL_FILE]: fileSha256(model), [OPTIMIZER_FILE]: fileSha256(optimizer) },
    state,
  };
  const temporary = join(folder, `.${name}.${runtime.id()}`);
  try {
    await mkdir(temporary, { recursive: true });
    await writeSynced(join(temporary, MODEL_FILE), model);
    await writeSynced(join(temporary, OPTIMIZER_FILE), optimizer);
    await writeSynced(join(temporary, STATE_FILE), Buffer.from(`${JSON.stringify(file, null, 2)}\n`));
    await replaceFolder(temporary, target, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw writeFailure(target, error);
  }
  return { name, folder: target, step: weights.step, version, sha256 };
}

/** A folder cannot be renamed over a full one: the old one steps aside first, and is removed when the new one stands. */
async function replaceFolder(temporary: string, target: string, parent: string): Promise<void> {
  await syncFolder(temporary);
  const aside = `${temporary}.old`;
  const hadOne = await rename(target, aside).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
  await rename(temporary, target);
  await syncFolder(parent);
  if (hadOne) await rm(aside, { recursive: true, force: true });
}

async function load(
  options: CheckpointOptions,
  name: string,
  withOptimizer: boolean,
): Promise<{ readonly ref: CheckpointRef; readonly state: unknown; readonly isBitEqual: boolean }> {
  const { engine } = options;
  const folder = folderOf(options, name);
  const file = await readState(options, name, folder);
  const flat = await readParameters(options, folder, file, MODEL_FILE, [""]);
  const moments = withOptimizer ? await readParameters(options, folder, file, OPTIMIZER_FILE, MOMENTS) : null;
  const weights = flat[0] ?? new Float32Array(0);
  if (weightsSha256(weights) !== file.weightsSha256) {
    throw mismatch(join(folder, STATE_FILE), "its weightsSha256 is not that of model.safetensors");
  }
  await engine.use(async (addon, handle) => {
    addon.copy(handle, 0, weights, true);
    const empty = new Float32Array(engine.parameters);
    for (const place of [1, 2]) addon.copy(handle, place, moments?.[place - 1] ?? empty, true);
    addon.setAdamStep(handle, moments === null ? 0 : file.step);
    await addon.discard(handle, {});
    await addon.refresh(handle, {});
  });
  return {
    ref: { name, folder, step: file.step, version: file.version, sha256: file.weightsSha256 },
    state: file.state,
    isBitEqual: withOptimizer && file.threads === engine.config.threads && file.build === engine.build,
  };
}

async function readState(options: CheckpointOptions, name: string, folder: string): Promise<StateFile> {
  const path = join(folder, STATE_FILE);
  const text = await readFile(path, "utf8").catch(async (error: NodeJS.ErrnoException) => {
    const entries = await readdir(options.folder).catch(() => []);
    const names = entries.filter((entry) => !entry.startsWith("."));
    if (error.code !== "ENOENT" || names.includes(name)) {
      throw mismatch(path, `it cannot be read (${error.message})`, error);
    }
    throw new Failure(
      "policy_checkpoint_missing",
      `There is no checkpoint ${name} in ${options.folder}. ` +
        (names.length === 0 ? "There is none at all." : `There are: ${names.sort().join(", ")}.`),
    );
  });
  let file: StateFile;
  try {
    file = JSON.parse(text) as StateFile;
  } catch (error) {
    throw mismatch(path, "it is no JSON", error);
  }
  if (file?.format !== FORMAT)
    throw mismatch(path, `its format is ${String(file?.format)}, and this engine reads ${FORMAT}`);
  if (canonicalJson(file.shape) !== canonicalJson(options.shape)) {
    throw mismatch(path, `its model shape ${JSON.stringify(file.shape)} is not ${JSON.stringify(options.shape)}`);
  }
  if (file.tokenizerSha256 !== options.tokenizer.sha256) {
    throw mismatch(path, "it was trained with another tokenizer (characters or keywords differ)");
  }
  return file;
}

/** Flat parameters of one file, one array for each prefix of tensor names. */
async function readParameters(
  options: CheckpointOptions,
  folder: string,
  file: StateFile,
  fileName: string,
  prefixes: readonly string[],
): Promise<Float32Array[]> {
  const path = join(folder, fileName);
  const bytes = await readFile(path).catch((error: Error) => {
    throw mismatch(path, `it cannot be read (${error.message})`, error);
  });
  if (fileSha256(bytes) !== file.files?.[fileName]) {
    throw mismatch(path, "its SHA-256 is not the one in state.json: it was cut, changed or damaged");
  }
  const tensors = decodeSafetensors(bytes, path);
  return prefixes.map((prefix) => {
    const own = new Map<string, Tensor>();
    for (const [name, tensor] of tensors) if (name.startsWith(prefix)) own.set(name.slice(prefix.length), tensor);
    const flat = new Float32Array(options.engine.parameters);
    const wrong = fillFromTensors(options.shape, options.tokenizer.size, own, flat);
    if (wrong !== null) throw mismatch(path, `tensor ${prefix}${wrong} is absent or has another shape`);
    return flat;
  });
}

function folderOf(options: CheckpointOptions, name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) {
    throw new Failure(
      "request_invalid",
      `"${name}" cannot name a checkpoint: use letters, digits, dots, dashes and underscores, 100 at most.`,
    );
  }
  return join(options.folder, name);
}

function fileSha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function mismatch(path: string, reason: string, cause?: unknown): Failure {
  return new Failure(
    "policy_checkpoint_mismatch",
    `Checkpoint file ${path} cannot be used: ${reason}. Choose another checkpoint, or start a new run.`,
    { cause },
  );
}

function writeFailure(target: string, error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  return new Failure("disk_full", `The disk is full; checkpoint ${target} was not written. Free space, then go on.`, {
    cause: error,
  });
}
