/**
 * What the store remembers in small JSON files: each image with its layers, and for each reference the image it gave and
 * of what inputs. A file that cannot be read counts as missing: the image is then built again, never guessed.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Runtime } from "../../core/runtime.ts";

const LAYER = z.object({ tree: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.number(), files: z.number() });
const IMAGE = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Top first. */
  layers: z.array(LAYER).min(1),
  /** Below them lies the machine's own system, as it is when a sandbox is made. */
  isOnHost: z.boolean().default(false),
  envVars: z.record(z.string(), z.string()),
  workdir: z.string().nullable(),
  createdAt: z.number(),
});
const PIN = z.object({ name: z.string(), architecture: z.string(), version: z.string(), sha256: z.string() });
const REFERENCE = z.object({
  reference: z.string(),
  inputs: z.string(),
  hash: z.string(),
  pins: z.array(PIN).nullable(),
});

export type ImageRecord = z.infer<typeof IMAGE>;
export type LayerRecord = z.infer<typeof LAYER>;
export type ReferenceRecord = z.infer<typeof REFERENCE>;

export class StoreRecords {
  readonly #images: string;
  readonly #references: string;
  readonly #runtime: Runtime;

  /** `variant` names the ownership: images of another one are not this process's. */
  constructor(folder: string, variant: string, runtime: Runtime) {
    this.#images = join(folder, "record", variant, "image");
    this.#references = join(folder, "record", variant, "reference");
    this.#runtime = runtime;
  }

  image(hash: string): ImageRecord | null {
    const record = read(this.#imageFile(hash), IMAGE);
    return record?.hash === hash ? record : null;
  }

  images(): readonly ImageRecord[] {
    return names(this.#images).flatMap((name) => this.image(name.replace(/\.json$/, "")) ?? []);
  }

  writeImage(record: ImageRecord): void {
    this.#write(this.#imageFile(record.hash), record);
  }

  removeImage(hash: string): void {
    rmSync(this.#imageFile(hash), { force: true });
  }

  /** When it was last resolved, by the record's own time. */
  usedAt(hash: string): number {
    return statSync(this.#imageFile(hash), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  touch(hash: string): void {
    try {
      const now = this.#runtime.now() / 1_000;
      utimesSync(this.#imageFile(hash), now, now);
    } catch {}
  }

  reference(reference: string): ReferenceRecord | null {
    const record = read(this.#referenceFile(reference), REFERENCE);
    return record?.reference === reference ? record : null;
  }

  references(): readonly ReferenceRecord[] {
    return names(this.#references).flatMap((name) => read(join(this.#references, name), REFERENCE) ?? []);
  }

  writeReference(record: ReferenceRecord): void {
    this.#write(this.#referenceFile(record.reference), record);
  }

  removeReference(reference: string): void {
    rmSync(this.#referenceFile(reference), { force: true });
  }

  #imageFile(hash: string): string {
    return join(this.#images, `${hash}.json`);
  }

  #referenceFile(reference: string): string {
    return join(this.#references, `${createHash("sha256").update(reference).digest("hex").slice(0, 40)}.json`);
  }

  /** Whole or not at all, also when the machine stops in between. */
  #write(path: string, value: unknown): void {
    mkdirSync(dirname(path), { recursive: true });
    const temporary = `${path}.${this.#runtime.id()}`;
    const file = openSync(temporary, "wx", 0o644);
    try {
      writeSync(file, `${JSON.stringify(value)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  }
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
}

function read<T extends z.ZodType>(path: string, schema: T): z.infer<T> | null {
  try {
    const result = schema.safeParse(JSON.parse(readFileSync(path, "utf8")));
    return result.success ? result.data : null;
  } catch {
    return null;
  }
}
