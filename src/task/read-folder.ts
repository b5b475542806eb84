/**
 * Reads a task folder into a Task, or says exactly what is wrong with it: file, line, field, value and remedy. What
 * this platform cannot serve is refused, never ignored; what belongs to other readers is kept and reported.
 */
import { writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { nearestName, tomlLine } from "../core/naming.ts";
import type { GeneratorReference, Task, TaskLimits, Tier } from "../core/task.ts";
import type { FolderFile } from "../core/task-folder.ts";
import { agentSideOf } from "./agent-side.ts";
import { authorsNotes } from "./authors-notes.ts";
import { contractOf, rulePath } from "./contract.ts";
import { readFolderFiles, textOf } from "./folder-files.ts";
import { dockerWorkdir, settleHarbor } from "./harbor-folder.ts";
import { taskHashes } from "./hash.ts";
import { judgeOf } from "./judge-fields.ts";
import { milestonesOf, type Refuse } from "./milestone-fields.ts";
import { problemText, taskInvalid } from "./problem.ts";
import { servicesOf } from "./services.ts";
import { readEnvironment } from "./task-environment.ts";
import { resourcesOf, settleSpellings } from "./task-resources.ts";
import type { TaskToml } from "./task-schema.ts";
import { readScripts } from "./task-scripts.ts";
import { foundManifest, MANIFEST_FILE, type ManifestEntry, readTests } from "./task-tests.ts";
import { fieldName, parseTaskToml, type TomlDocument } from "./task-toml.ts";
import { tiersOf, wrong } from "./tiers.ts";
import { refuseUnserved } from "./unserved.ts";

export interface ReadTask {
  readonly task: Task;
  /** Sentences for a person; nothing in them stops the task from being used. */
  readonly warnings: readonly string[];
}

const TASK_FILE = "task.toml";
const INSTRUCTION_FILE = "instruction.md";
const INSTRUCTION_BYTES_MAX = 65_536;
const KEY = /^[a-z0-9]+(?:[-.][a-z0-9]+)*\/[a-z0-9]+(?:-[a-z0-9]+)*$/;
const PARTS = ["environment", "visible", "tests", "solution", "wrong"];

/** The task of a folder. Throws `task_invalid` with one sentence: file, line, field, value, remedy. */
export async function readTaskFolder(folder: string): Promise<Task> {
  return (await readTask(folder)).task;
}

/** The same with what was noticed and did not stop it, such as unknown keys of other readers. Throws `task_invalid`. */
export async function readTask(folder: string): Promise<ReadTask> {
  const { name, files, document } = await readDocuments(folder);
  return assemble(name, files, document);
}

/** The task of a folder that is in memory; messages name its files below `name`. Throws `task_invalid`. */
export function taskOfFiles(name: string, files: readonly FolderFile[]): ReadTask {
  return assemble(name, files, documentOf(name, files));
}

/** The manifest of a folder's test files, as `tests/manifest.json` holds it. Throws `task_invalid`. */
export function manifestText(name: string, files: readonly FolderFile[]): string {
  const manifest = manifestOf(name, files, documentOf(name, files));
  return `${JSON.stringify({ tests: manifest }, null, 2)}\n`;
}

/**
 * Writes `tests/manifest.json` of a task folder from its test files and returns what it wrote.
 * Throws `task_invalid` when a test file cannot be read or holds no test.
 */
export async function writeManifest(folder: string): Promise<readonly ManifestEntry[]> {
  const { name, files, document } = await readDocuments(folder);
  const manifest = manifestOf(name, files, document);
  await writeFile(join(folder, MANIFEST_FILE), `${JSON.stringify({ tests: manifest }, null, 2)}\n`);
  return manifest;
}

function manifestOf(folder: string, found: readonly FolderFile[], read: TomlDocument<TaskToml>) {
  const { files, document } = settleHarbor(found, read);
  return foundManifest(folder, files, tiersOf(document, files));
}

async function readDocuments(folder: string) {
  const name = folder.length > 1 ? folder.replace(/\/+$/, "") : folder;
  const files = await readFolderFiles(name);
  return { name, files, document: documentOf(name, files) };
}

function documentOf(name: string, files: readonly FolderFile[]): TomlDocument<TaskToml> {
  const document = settleSpellings(
    parseTaskToml(requiredText(name, files, TASK_FILE, "add it"), `${name}/${TASK_FILE}`),
  );
  refuseUnserved(document);
  refuseUnservedFolders(name, files);
  return document;
}

function assemble(folder: string, written: readonly FolderFile[], read: TomlDocument<TaskToml>): ReadTask {
  const { files, document } = settleHarbor(written, read);
  const { value } = document;
  const tiers = tiersOf(document, files);
  const environment = readEnvironment(folder, files, document);
  const manifestFile = manifestPath(document);
  const tests = readTests(folder, files, tiers, manifestFile);
  const scripts = readScripts(
    folder,
    files,
    tiers.map(({ name }) => name),
    value.solution?.env,
  );
  const verifierVariables = verifierVariablesOf(document, tiers);
  const services = servicesOf(document);
  const protectedPaths = (value.sandlot?.protected ?? []).map((path, index) =>
    rulePath(document, ["sandlot", "protected", index], path),
  );
  const refuse: Refuse = ({ path, ...problem }) => wrong(document, path, problem);
  const milestones = milestonesOf(value.sandlot ?? {}, refuse);
  const judge = judgeOf(value.sandlot?.judge, refuse);
  const seed = value.sandlot?.grading_seed ?? "fresh";
  const imageWorkdir = dockerWorkdir(folder, written);
  const agentSide = agentSideOf(document, { ...environment, workdir: imageWorkdir }, resourcesOf(read.value));
  const limits = limitsOf(value);
  const contract = contractOf(document);
  const threshold = value.sandlot?.threshold ?? 1;
  const { gradeMs, episodeMs: _episodeMs, ...agentLimits } = limits;
  const hashes = taskHashes(
    written,
    // The Dockerfile is among the files; where the folder lies makes no other task of it.
    { ...agentSide, image: environment.image.replace(/^dockerfile:.*$/, "dockerfile:"), limits: agentLimits },
    {
      contract,
      threshold,
      gradingSeed: String(seed),
      gradeMs,
      tiers,
      manifest: tests.manifest,
      services,
      protectedPaths,
      milestones: milestones ?? null,
      judge: judge ?? null,
      ...verifierVariables,
    },
  );
  const task: Task = {
    key: keyOf(folder, document),
    ...hashes,
    family: value.sandlot?.family ?? "other",
    description: value.task?.description ?? "",
    instruction: instructionOf(folder, files),
    ...agentSide,
    limits,
    files: environment.files,
    setup: setupOf(environment.setup, agentSide.workdir, read.value),
    contract,
    verifier: { kind: "tests", tiers, ...(services.length > 0 ? { services } : {}), ...verifierVariables, ...tests },
    ...(milestones === undefined ? {} : { milestones }),
    ...(judge === undefined ? {} : { judge }),
    ...(protectedPaths.length > 0 ? { protectedPaths } : {}),
    threshold,
    gradingSeed: seed === "fresh" ? "fresh" : BigInt(seed),
    ...scripts,
    generator: generatorOf(value),
    ...authorsNotes(document, tests.manifest),
    folder,
  };
  return {
    task,
    warnings: [
      ...document.warnings,
      ...sharedWarning(document),
      ...environment.warnings,
      ...strayFiles(folder, written),
    ],
  };
}

/** Folders of the format that ask for what is not served; their content would change the grading. */
function refuseUnservedFolders(folder: string, files: readonly FolderFile[]): void {
  for (const { path } of files) {
    const [part = ""] = path.split("/");
    if (part !== "verifier" && part !== "steps") continue;
    throw taskInvalid({
      file: `${folder}/${path}`,
      message:
        part === "steps"
          ? "belongs to a task of several parts, which is not served"
          : "asks for an image of the verifier, which is not served",
      remedy:
        part === "steps"
          ? "make each part a task of its own"
          : "remove verifier/; hidden tests run on the image of the task",
    });
  }
}

function requiredText(folder: string, files: readonly FolderFile[], path: string, remedy: string): string {
  const file = files.find((candidate) => candidate.path === path);
  if (file) return textOf(folder, file);
  const nearest = nearestName(
    path,
    files.map((candidate) => candidate.path).filter((candidate) => !candidate.includes("/")),
  );
  throw taskInvalid({
    file: `${folder}/${path}`,
    message: "is missing",
    remedy: nearest === null ? remedy : `${remedy}, or rename ${nearest}`,
  });
}

function instructionOf(folder: string, files: readonly FolderFile[]): string {
  const text = requiredText(folder, files, INSTRUCTION_FILE, "write what the agent is told");
  if (text.trim() === "" || text.length > INSTRUCTION_BYTES_MAX) {
    throw taskInvalid({
      file: `${folder}/${INSTRUCTION_FILE}`,
      field: "length",
      value: text.length,
      message: text.trim() === "" ? "is empty" : `is over ${INSTRUCTION_BYTES_MAX} characters`,
      remedy: "write the end state that the tests look for, in at most a few pages",
    });
  }
  return text;
}

function keyOf(folder: string, document: TomlDocument<TaskToml>): string {
  const declared = document.value.task?.name;
  const key = declared ?? `local/${basename(resolve(folder))}`;
  if (KEY.test(key) && key.length <= 128) return key;
  const plain = key
    .toLowerCase()
    .replace(/[^a-z0-9/]+/g, "-")
    .replace(/^-+|-+$/g, "");
  throw wrong(document, ["task", "name"], {
    value: key,
    message: "is not an id of the form org/name in kebab-case",
    remedy: `write one such as "${KEY.test(plain) ? plain : KEY.test(`local/${plain}`) ? `local/${plain}` : "sandlot/my-task"}"`,
  });
}

/** Tasks of other makers expect an agent that may change all of its work folder, as root in a container may. */
function setupOf(setup: string | null, workdir: string, { sandlot }: TaskToml): string | null {
  return sandlot === undefined ? `${setup ?? ""}\nchown -R 1000:1000 '${workdir.replaceAll("'", "'\\''")}'\n` : setup;
}

function manifestPath(document: TomlDocument<TaskToml>): string {
  const value = document.value.sandlot?.tests?.manifest ?? MANIFEST_FILE;
  if (value === MANIFEST_FILE) return value;
  throw wrong(document, ["sandlot", "tests", "manifest"], {
    value,
    message: "is not where the manifest is looked for",
    remedy: `write "${MANIFEST_FILE}" or leave it out`,
  });
}

function limitsOf({ agent, verifier, sandlot }: TaskToml): TaskLimits {
  const agentMs = Math.round((agent?.timeout_sec ?? 900) * 1_000);
  const gradeMs = Math.round((verifier?.timeout_sec ?? 600) * 1_000);
  return {
    turnsMax: sandlot?.limits?.turns ?? 50,
    tokensMax: sandlot?.limits?.tokens ?? 128_000,
    agentMs,
    commandMs: Math.min(agentMs, Math.round((sandlot?.limits?.command_sec ?? 120) * 1_000)),
    gradeMs,
    episodeMs: Math.round((sandlot?.limits?.episode_sec ?? (agentMs + gradeMs) / 1_000 + 300) * 1_000),
    outputBytesPerTurn: sandlot?.limits?.output_bytes_per_turn ?? 65_536,
  };
}

/** Scripts that decide themselves read variables; tests of the other runners meet none but their own. */
function verifierVariablesOf(document: TomlDocument<TaskToml>, tiers: readonly Tier[]) {
  const envVars = document.value.verifier?.env;
  if (envVars === undefined || Object.keys(envVars).length === 0) return {};
  if (tiers.every(({ runner }) => runner === "reward-file")) return { envVars };
  throw wrong(document, ["verifier", "env"], {
    value: envVars,
    message: 'is for tiers of the runner "reward-file" alone',
    remedy: "write the values into the test files",
  });
}

function generatorOf({ sandlot }: TaskToml): GeneratorReference | null {
  const origin = sandlot?.generator;
  if (!origin) return null;
  return { name: origin.module, version: origin.version, seed: String(origin.seed), dials: origin.dials ?? {} };
}

/** A task that asks to be graded in the agent's sandbox is graded in a clean one; its author should know. */
function sharedWarning({ file, text, value }: TomlDocument<TaskToml>): readonly string[] {
  const path = ["verifier", "environment_mode"];
  if (value.verifier?.environment_mode !== "shared") return [];
  const message = "is graded separately all the same, from the collected files";
  const problem = { file, line: tomlLine(text, path), field: fieldName(path), value: "shared", message };
  return [problemText({ ...problem, remedy: "name in artifacts all that the tests need" })];
}

/** Top-level entries that no part of the format reads. */
function strayFiles(folder: string, files: readonly FolderFile[]): readonly string[] {
  const known = new Set([TASK_FILE, INSTRUCTION_FILE, "README.md", "LICENSE", ...PARTS]);
  const strays = new Set(files.map(({ path }) => path.split("/")[0] ?? "").filter((entry) => !known.has(entry)));
  return [...strays].map((entry) => {
    const nearest = nearestName(entry, [...known]);
    return problemText({
      file: `${folder}/${entry}`,
      message: "belongs to no part of a task",
      remedy: nearest === null ? "remove it" : `rename it to ${nearest} if that was meant, or remove it`,
    });
  });
}
