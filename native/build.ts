/**
 * Compiles the C parts with the machine's own compiler, once per source hash, into the user's cache. Nothing is built
 * at `npm install`; the first use or `sandlot setup` does it. A finished build is renamed into place, so two processes
 * that build at once both end with a whole file.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Failure } from "../src/core/errors.ts";

const run = promisify(execFile);

export type NativePart = "helper" | "engine";

export interface NativeBuild {
  readonly part: NativePart;
  /** The helper program, or the `.node` addon of the engine. */
  readonly path: string;
  readonly compiler: string;
  readonly isFresh: boolean;
  readonly durationMs: number;
}

/** Folder of what can be rebuilt: `$XDG_CACHE_HOME/sandlot`, else `~/.cache/sandlot`. */
export function cacheFolder(): string {
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "sandlot");
}

/** Sources of a part: from `native/` beside this file, or beside the compiled copy of it in `dist/`. */
function sourceFolder(part: NativePart): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const beside = join(here, part);
  return existsSync(beside) ? beside : join(here, "..", "..", "native", part);
}

function onPath(program: string): string | null {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, program);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {}
  }
  return null;
}

/** Throws `environment_missing` with the remedy when there is no C compiler. `CC` names another one. */
export function findCompiler(preferred: readonly string[]): string {
  const named = process.env["CC"];
  for (const candidate of named === undefined ? [...preferred, "cc", "gcc", "clang"] : [named]) {
    const path =
      onPath(candidate) ?? (statSync(candidate, { throwIfNoEntry: false })?.isFile() === true ? candidate : null);
    if (path !== null) return path;
  }
  if (named !== undefined)
    throw new Failure("environment_missing", `CC names "${named}", which is no program; mend CC, or unset it.`);
  throw new Failure(
    "environment_missing",
    "No C compiler was found (looked for cc, gcc and clang on PATH). Sandlot compiles its sandbox helper and its " +
      "training engine once. Install one, for example: apt-get install gcc libc6-dev",
  );
}

interface Recipe {
  readonly output: string;
  readonly compilers: readonly string[];
  /** Tried in order; the first that compiles wins. */
  readonly flags: readonly (readonly string[])[];
}

function recipe(part: NativePart): Recipe {
  const warnings = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"];
  if (part === "helper") {
    const common = ["-O2", ...warnings];
    return { output: "sandlot-helper", compilers: [], flags: [[...common, "-static"], common] };
  }
  const headers = createRequire(import.meta.url)("node-api-headers") as { readonly include_dir: string };
  // No `-ffast-math`: reassociation would break the kernels' fixed order of addition. `-fno-math-errno` lets a square root
  // be one instruction; the psabi warning is about vectors that only pass between inlined functions.
  const kernels = ["-O3", "-ffp-contract=fast", "-fno-math-errno", "-shared", "-fPIC", "-pthread", "-std=gnu11"];
  const include = `-I${headers.include_dir}`;
  return {
    output: "sandlot-engine.node",
    compilers: ["clang"],
    // A compiler newer than this source may warn of what no older one did; that must not stop a user.
    flags: [
      [...kernels, ...warnings, "-Wno-psabi", include],
      [...kernels, "-Wno-psabi", include],
    ],
  };
}

/** Compiles every `.c` file of the part's folder (not of `test/` below it) into one output, or finds it built. */
export async function buildNative(part: NativePart): Promise<NativeBuild> {
  const started = performance.now();
  const given = part === "helper" ? process.env["SANDLOT_HELPER"] : undefined;
  if (given !== undefined && given !== "") return prebuilt(given);
  const folder = sourceFolder(part);
  const names = readdirSync(folder)
    .filter((name) => /\.[ch]$/.test(name))
    .sort();
  const { output, compilers, flags } = recipe(part);
  const compiler = findCompiler(compilers);
  const hash = createHash("sha256").update(JSON.stringify([process.arch, compiler, flags, output]));
  for (const name of names)
    hash
      .update(name)
      .update("\0")
      .update(readFileSync(join(folder, name)))
      .update("\0");
  const target = join(cacheFolder(), "native", `${part}-${hash.digest("hex").slice(0, 24)}`);
  const path = join(target, output);
  const done = (isFresh: boolean): NativeBuild => ({
    part,
    path,
    compiler,
    isFresh,
    durationMs: performance.now() - started,
  });
  if (existsSync(path)) return done(false);

  const temporary = `${target}.${process.pid}.${Date.now()}`;
  mkdirSync(temporary, { recursive: true });
  const sources = names.filter((name) => name.endsWith(".c")).map((name) => join(folder, name));
  try {
    await compile(compiler, sources, join(temporary, output), flags);
    if (!existsSync(path)) {
      try {
        renameSync(temporary, target);
      } catch (error) {
        if (!existsSync(path)) throw error;
      }
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return done(true);
}

/** A helper that was built elsewhere, from these very sources. */
function prebuilt(path: string): NativeBuild {
  if (!existsSync(path)) {
    const message = `SANDLOT_HELPER names ${path}, which does not exist; name a built helper, or unset it to compile one.`;
    throw new Failure("environment_missing", message);
  }
  return { part: "helper", path, compiler: "built elsewhere", isFresh: false, durationMs: 0 };
}

async function compile(
  compiler: string,
  sources: readonly string[],
  output: string,
  flags: readonly (readonly string[])[],
): Promise<void> {
  let last: unknown = null;
  for (const set of flags) {
    try {
      await run(compiler, [...set, "-o", output, ...sources, "-lm"], { maxBuffer: 8 << 20 });
      return;
    } catch (error) {
      last = error;
    }
  }
  if ((last as { readonly signal?: string | null }).signal != null) {
    throw new Failure("cancelled", `Compiling ${output} was stopped; start again to compile it.`, { cause: last });
  }
  const text = (last as { readonly stderr?: string }).stderr ?? String(last);
  const missing = /fatal error: (\S+): No such file/.exec(text)?.[1];
  const remedy =
    missing === undefined
      ? "This is a fault of Sandlot; please report it with the text above."
      : "The C library's headers are missing; install them, for example: apt-get install libc6-dev";
  throw new Failure(
    "environment_missing",
    `${compiler} could not compile ${output}:\n${text.slice(0, 4_000)}\n${remedy}`,
    {
      cause: last,
    },
  );
}
