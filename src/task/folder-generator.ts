/**
 * Makes a task generator of a generator of folders: seeds by split, draws until one holds, names the task, writes its
 * manifest and its origin, and reads the result like every folder. A drawn task can be written down and read back the same.
 */
import { createHash } from "node:crypto";
import { deriveSeed, type Random, randomFrom } from "../core/random.ts";
import type { Task, TaskGenerator } from "../core/task.ts";
import type { Dial, DrawnFolder, FolderFile, FolderGenerator } from "../core/task-folder.ts";
import { completeFolder } from "./complete-folder.ts";
import { taskInvalid } from "./problem.ts";
import { taskOfFiles } from "./read-folder.ts";

/** Which seed, and how hard. */
export interface DrawRequest {
  readonly seed: bigint;
  /** A dial that is left out is drawn from its range. */
  readonly dials: Readonly<Record<string, number>>;
}

/** A drawn task: what its folder is called, and all files of it, sorted by path. */
export interface WrittenFolder {
  readonly name: string;
  readonly files: readonly FolderFile[];
}

/** A task generator that can also write its tasks as folders. */
export interface FolderTaskGenerator extends TaskGenerator {
  readonly family: string;
  /** The seed of the task at `index` of a split. Throws `task_invalid` for an unknown split. */
  seedOf(request: { readonly split: string; readonly index: number; readonly seed: bigint }): bigint;
  /** Equal requests give equal bytes. Throws `task_invalid` for an unknown dial, or when 20 draws were rejected. */
  write(request: DrawRequest): WrittenFolder;
}

const SPLITS = ["train", "held-out", "eval"] as const;
const DRAWS_MAX = 20;
const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/;

export function folderTaskGenerator(generator: FolderGenerator): FolderTaskGenerator {
  const { name, version, dials, family } = generator;
  const write = (request: DrawRequest): WrittenFolder => writeFolder(generator, request);
  const seedOf: FolderTaskGenerator["seedOf"] = ({ split, index, seed }) => seedOfSplit(generator, split, index, seed);
  return {
    name,
    version,
    dials,
    family,
    splits: SPLITS,
    demonstrations: null,
    alphabet: null,
    seedOf,
    write,
    generate: ({ split, index, seed, dials: asked = {} }): Task => {
      const written = write({ seed: seedOf({ split, index, seed }), dials: asked });
      return { ...taskOfFiles(written.name, written.files).task, folder: null };
    },
  };
}

/** Whether a generator draws folders, and so can write them. */
export function writesFolders(generator: TaskGenerator): generator is FolderTaskGenerator {
  return "write" in generator && typeof generator.write === "function";
}

/** A quarter of all seeds is kept from training by a property of the seed itself, so no split can leak into another. */
export function splitOfSeed(generator: Pick<FolderGenerator, "name">, seed: bigint): (typeof SPLITS)[number] {
  const [first = 0] = createHash("sha256").update(`${generator.name}:${seed}`).digest();
  if (first >= 64) return "train";
  return first >= 32 ? "held-out" : "eval";
}

function seedOfSplit(generator: FolderGenerator, split: string, index: number, seed: bigint): bigint {
  if (!SPLITS.some((known) => known === split)) {
    throw taskInvalid({
      file: generator.name,
      field: "split",
      value: split,
      message: "is no split of this generator",
      remedy: `write one of ${SPLITS.join(", ")}`,
    });
  }
  for (let draw = 0; ; draw += 1) {
    const candidate = deriveSeed(generator.name, generator.version, seed, index, draw);
    if (splitOfSeed(generator, candidate) === split) return candidate;
  }
}

function writeFolder(generator: FolderGenerator, request: DrawRequest): WrittenFolder {
  const root = randomFrom(deriveSeed(generator.name, generator.version, request.seed));
  const dials = settledDials(generator, request.dials, root.fork("dials"));
  const drawn = drawnFolder(generator, request.seed, dials, root);
  const { name, family, version } = generator;
  if (!SLUG.test(drawn.slug) || drawn.slug.length > 40) {
    throw taskInvalid({
      file: name,
      field: "slug",
      value: drawn.slug,
      message: "is not a kebab-case name of at most 40 characters",
      remedy: "let draw give one such as ledger-rounding",
    });
  }
  if (isBuilt(drawn)) {
    throw taskInvalid({
      file: `${name}/environment/Dockerfile`,
      message: "was drawn, and a drawn task has no folder that an engine could build",
      remedy: "let draw give an environment/image.toml",
    });
  }
  const folder = `${drawn.slug}-${suffixOf(name, version, request.seed, dials)}`;
  const origin = {
    module: name,
    version,
    seed: String(request.seed),
    ...(Object.keys(dials).length > 0 ? { dials } : {}),
  };
  const files = completeFolder(folder, `${family}/${folder}`, drawn, { generator: origin });
  return { name: folder, files };
}

function isBuilt({ files }: DrawnFolder): boolean {
  const has = (name: string): boolean => files.some(({ path }) => path === `environment/${name}`);
  return has("Dockerfile") && !has("image.toml");
}

function drawnFolder(
  generator: FolderGenerator,
  seed: bigint,
  dials: Readonly<Record<string, number>>,
  root: Random,
): DrawnFolder {
  for (let draw = 0; draw < DRAWS_MAX; draw += 1) {
    const drawn = generator.draw({ seed, dials, random: root.fork(`draw-${draw}`) });
    if (drawn !== null) return drawn;
  }
  throw taskInvalid({
    file: generator.name,
    field: "seed",
    value: String(seed),
    message: `gave no task in ${DRAWS_MAX} draws`,
    remedy: "loosen the generator's own check, or use another seed",
  });
}

function settledDials(
  { name, dials }: FolderGenerator,
  asked: Readonly<Record<string, number>>,
  random: Random,
): Readonly<Record<string, number>> {
  const unknown = Object.keys(asked).find((dial) => !Object.hasOwn(dials, dial));
  if (unknown !== undefined) {
    throw taskInvalid({
      file: name,
      field: "dials",
      value: unknown,
      message: "is no dial of this generator",
      remedy: `write one of ${Object.keys(dials).join(", ") || "none, it has no dials"}`,
    });
  }
  return Object.fromEntries(
    Object.entries(dials).map(([dial, rule]) => [dial, dialValue(name, dial, rule, asked[dial], random.fork(dial))]),
  );
}

function dialValue(generator: string, dial: string, rule: Dial, asked: number | undefined, random: Random): number {
  const steps = Math.floor((rule.max - rule.min) / rule.step + 1e-9);
  if (asked === undefined) return rule.min + random.integer(0, steps) * rule.step;
  const at = (asked - rule.min) / rule.step;
  if (asked >= rule.min && asked <= rule.max && Math.abs(at - Math.round(at)) < 1e-9) return asked;
  throw taskInvalid({
    file: generator,
    field: `dials.${dial}`,
    value: asked,
    message: `is not a value from ${rule.min} to ${rule.max} in steps of ${rule.step}`,
    remedy: `write one such as ${rule.min}`,
  });
}

/** Two draws of one generator share a name only if a 30-bit hash of seed and dials agrees. */
function suffixOf(name: string, version: number, seed: bigint, dials: Readonly<Record<string, number>>): string {
  const words = Object.entries(dials).map(([dial, value]) => `${dial}=${value}`);
  const hash = createHash("sha256")
    .update([name, version, seed, ...words].join("\n"))
    .digest();
  return (hash.readUInt32BE(0) >>> 2).toString(36).padStart(6, "0");
}
