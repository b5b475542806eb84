/**
 * Images of a container engine: a reference it knows or can pull, or a folder with a Dockerfile that it builds. The image
 * is saved once as an archive and read by our own rules; no engine is asked again for a sandbox.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Failure } from "../../core/errors.ts";
import type { BuildContext, BuiltImage, ImageSource } from "./image-source.ts";
import { layImageArchive } from "./oci-archive.ts";
import { findProgram, lastWords, runTool, type ToolEnd } from "./run-tool.ts";
import { tarSource } from "./source-tar.ts";
import { hashTree } from "./tree-hash.ts";

type EngineName = "podman" | "buildah" | "docker";

interface Engine {
  readonly name: EngineName;
  readonly program: string;
}

const FOR_PULLING: readonly EngineName[] = ["podman", "docker", "buildah"];
/* buildah builds without a running engine and can do so by chroot alone, which works where containers do not. */
const FOR_BUILDING: readonly EngineName[] = ["buildah", "podman", "docker"];

/** The engines this machine has, by program; one may be here and still not work. */
export function installedEngines(names: readonly EngineName[] = FOR_PULLING): readonly Engine[] {
  return names.flatMap((name): Engine[] => {
    const program = findProgram(name);
    return program === null ? [] : [{ name, program }];
  });
}

function enginesFor(reference: string, names: readonly EngineName[]): readonly Engine[] {
  const found = installedEngines(names);
  if (found.length > 0) return found;
  throw new Failure(
    "image_unavailable",
    `Image "${reference}" needs podman, buildah or docker, and none is installed. Run: apt-get install buildah`,
  );
}

/** `oci:REF`; `oci:oci-archive:FILE` and `oci:docker-archive:FILE` need no engine. */
export function engineSource(name: string): ImageSource {
  const archive = /^(oci-archive|docker-archive):(.+)$/.exec(name);
  if (archive !== null) return tarSource(archive[2] ?? "", `oci:${archive[1]}` as "oci:oci-archive");
  const reference = `oci:${name}`;
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/.test(name))
    throw new Failure(
      "request_invalid",
      `Image "${reference}": "${name}" is no image name; write one such as oci:docker.io/library/debian:bookworm.`,
    );
  return {
    reference,
    inputs: async () => reference,
    build: (context) =>
      tryEngines(reference, enginesFor(reference, FOR_PULLING), context, (engine) => fetched(engine, name, context)),
  };
}

/** `dockerfile:FOLDER`: the folder is the build's context and holds the Dockerfile (or Containerfile). */
export function dockerfileSource(path: string): ImageSource {
  const folder = resolve(path);
  const reference = `dockerfile:${folder}`;
  const file = ["Dockerfile", "Containerfile"].map((name) => join(folder, name)).find((each) => existsSync(each));
  const recipe = (): string => {
    if (file !== undefined) return file;
    throw new Failure(
      "image_unavailable",
      `Image "${reference}": ${join(folder, "Dockerfile")} is missing; put it there, or mend the path.`,
    );
  };
  return {
    reference,
    inputs: async (signal) => {
      recipe();
      return (await hashTree(folder, null, signal)).hash;
    },
    build: (context) =>
      tryEngines(reference, enginesFor(reference, FOR_BUILDING), context, (engine) =>
        built(engine, folder, recipe(), reference, context),
      ),
  };
}

/** One engine may be installed and not work here; the next is tried, and the last one's words are told. */
async function tryEngines(
  reference: string,
  engines: readonly Engine[],
  context: BuildContext,
  make: (engine: Engine) => Promise<string>,
): Promise<BuiltImage> {
  const reasons: string[] = [];
  for (const engine of engines) {
    try {
      const archive = await make(engine);
      return await layImageArchive(archive, context);
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error;
      reasons.push(`${engine.name}: ${error.message}`);
      if (error.isOfTheImage) break;
    }
  }
  throw new Failure(
    "image_unavailable",
    `Image "${reference}" could not be had. ${reasons.join("\n")}\nThe whole log: ${context.log}`,
  );
}

class EngineFailure extends Error {
  /** The Dockerfile is at fault, so no other engine would do better. */
  readonly isOfTheImage: boolean;

  constructor(message: string, isOfTheImage = false) {
    super(message);
    this.isOfTheImage = isOfTheImage;
  }
}

async function fetched(engine: Engine, name: string, context: BuildContext): Promise<string> {
  const archive = join(context.workFolder, `${engine.name}.tar`);
  context.onStep(`getting ${name} from ${engine.name}`);
  const isHere = await say(
    engine,
    context,
    engine.name === "buildah" ? ["inspect", "--type", "image", name] : ["image", "inspect", name],
  );
  if (isHere.exitCode !== 0) {
    const pulled = await say(engine, context, ["pull", name]);
    if (pulled.exitCode !== 0) throw new EngineFailure(lastWords(pulled.said, 3));
  }
  await save(engine, name, archive, context);
  return archive;
}

async function save(engine: Engine, name: string, archive: string, context: BuildContext): Promise<void> {
  context.onStep(`exporting ${name} from ${engine.name}`);
  const args: Readonly<Record<EngineName, readonly string[]>> = {
    podman: ["save", "--format", "oci-archive", "-o", archive, name],
    docker: ["save", "-o", archive, name],
    buildah: ["push", name, `oci-archive:${archive}`],
  };
  const saved = await say(engine, context, args[engine.name]);
  if (saved.exitCode !== 0) throw new EngineFailure(lastWords(saved.said, 3));
}

async function built(
  engine: Engine,
  folder: string,
  file: string,
  reference: string,
  context: BuildContext,
): Promise<string> {
  const tag = `localhost/sandlot-build-${createHash("sha256").update(context.workFolder).digest("hex").slice(0, 16)}`;
  context.onStep(`building ${file} with ${engine.name}`);
  const common = ["-t", tag, "-f", file, folder];
  const args =
    engine.name === "docker" ? ["build", ...common] : ["build", "--isolation", "chroot", "--layers=false", ...common];
  try {
    const end = await say(engine, context, args);
    if (end.exitCode !== 0) throw stepFailure(end.said, file, reference);
    const archive = join(context.workFolder, `${engine.name}.tar`);
    await save(engine, tag, archive, context);
    return archive;
  } finally {
    await say(engine, { ...context, signal: undefined, onLine: () => undefined }, ["rmi", "-f", tag]).catch(
      () => undefined,
    );
  }
}

/** The step the engine stopped at, with its line in the Dockerfile. */
function stepFailure(said: string, file: string, reference: string): EngineFailure {
  const step =
    /building at STEP "([^\n]+?)":/.exec(said)?.[1] ??
    [...said.matchAll(/^(?:STEP|Step) \d+(?:\/\d+)? ?: (.+)$/gm)].pop()?.[1];
  if (step === undefined) return new EngineFailure(lastWords(said));
  const words = step.replaceAll(/\s+/g, " ").trim();
  const lines = readFileSync(file, "utf8").split("\n");
  const index = lines.findIndex(
    (line) =>
      line.trim() !== "" &&
      words.toLowerCase().startsWith(line.replace(/\\$/, "").replaceAll(/\s+/g, " ").trim().toLowerCase()),
  );
  const place = index < 0 ? file : `${file}:${index + 1}`;
  return new EngineFailure(`${place}: the step "${words}" of ${reference} failed.\n${lastWords(said)}`, true);
}

function say(
  engine: Engine,
  context: Pick<BuildContext, "log" | "signal" | "onLine">,
  args: readonly string[],
): Promise<ToolEnd> {
  return runTool({
    program: engine.program,
    args,
    log: context.log,
    signal: context.signal,
    onLine: context.onLine,
  });
}
