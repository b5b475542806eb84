/**
 * The agent's side of a task folder: `environment/image.toml`, the files it places, the set-up script, and the
 * visible tests, which the agent finds under `/visible`.
 */
import { resolve } from "node:path";
import { nearestName, tomlLine } from "../core/naming.ts";
import type { ImageReference } from "../core/sandbox.ts";
import type { FileContent } from "../core/sandbox-files.ts";
import type { FolderFile } from "../core/task-folder.ts";
import { textOf } from "./folder-files.ts";
import { DOCKERFILE } from "./harbor-folder.ts";
import { problemText, taskInvalid } from "./problem.ts";
import type { ImageToml, TaskToml } from "./task-schema.ts";
import { parseImageToml, type TomlDocument } from "./task-toml.ts";

/** Where `visible/` lies in the agent's sandbox. */
const VISIBLE_FOLDER = "/visible";

/** Folders of a sandbox that the platform keeps for itself. */
const RESERVED = ["/tests", "/solution", "/artifacts", VISIBLE_FOLDER, "/proc", "/sys", "/dev", "/run/sandlot", "/usr"];
/** Images that are made from what the reference says, wherever the task's folder lies. */
const STORED_IMAGE = /^(?:recipe:[a-z0-9][a-z0-9-]*|debian:[a-z0-9].*|oci:[^\s]+|sha256:[0-9a-f]{64})$/;
const IMAGE_FILE = "environment/image.toml";
const SETUP_FILE = "environment/setup.sh";
const ONE_SANDBOX = "asks for several containers, and all of a task runs in one";
const COMPOSE = /^environment\/(?:docker-)?compose\.ya?ml$/;

export interface TaskEnvironment {
  readonly image: ImageReference;
  readonly files: readonly FileContent[];
  readonly setup: string | null;
  readonly warnings: readonly string[];
}

/** Reads `environment/` and `visible/`. Throws `task_invalid`. */
export function readEnvironment(
  folder: string,
  files: readonly FolderFile[],
  document: TomlDocument<TaskToml>,
): TaskEnvironment {
  const image = imageDocument(folder, files);
  const source = image === null ? engineImage(folder, files, document) : null;
  const placed = image === null ? [] : placedFiles(files, image);
  const used = new Set([IMAGE_FILE, SETUP_FILE, ...placed.map(({ source }) => source)]);
  const unused = files.filter(({ path }) => path.startsWith("environment/") && !used.has(path));
  // What lies beside a Dockerfile is what it is built from.
  const warnings =
    source === null ? [...unused.map(({ path }) => unusedWarning(folder, path)), ...unusedImage(document)] : [];
  const visible = files
    .filter(({ path }) => path.startsWith("visible/"))
    .map((file) => placedAt(file, `${VISIBLE_FOLDER}/${file.path.slice("visible/".length)}`, null));
  const contents = [...placed.map(({ content }) => content), ...visible];
  refuseDuplicates(folder, contents);
  return {
    image: source ?? image?.value.base ?? "host",
    files: contents,
    setup: setupScript(folder, files, image?.value ?? {}),
    warnings,
  };
}

function unusedWarning(folder: string, path: string): string {
  const file = `${folder}/${path}`;
  if (path === DOCKERFILE) {
    return problemText({
      file,
      message: "is not built, because image.toml says what stands for it",
      remedy: "remove image.toml to have it built by a container engine",
    });
  }
  if (COMPOSE.test(path)) {
    return problemText({ file, message: ONE_SANDBOX, remedy: "start what is needed in setup.sh, or remove it" });
  }
  return problemText({
    file,
    message: "is placed nowhere",
    remedy: "name it in files of environment/image.toml, or remove it",
  });
}

function unusedImage({ file, text, value }: TomlDocument<TaskToml>): readonly string[] {
  const name = value.environment?.docker_image;
  if (name === undefined || name === "") return [];
  const path = ["environment", "docker_image"];
  const problem = { file, line: tomlLine(text, path), field: path.join("."), value: name };
  return [
    problemText({
      ...problem,
      message: "is not used, because image.toml says what stands for it",
      remedy: "remove image.toml to have a container engine fetch it",
    }),
  ];
}

/** The image of a task without image.toml: one that an engine has or pulls, or builds from the Dockerfile. */
function engineImage(
  folder: string,
  files: readonly FolderFile[],
  { file, text, value }: TomlDocument<TaskToml>,
): ImageReference {
  const ready = value.environment?.docker_image;
  if (ready !== undefined && ready !== "") {
    if (/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/.test(ready)) return `oci:${ready}`;
    throw taskInvalid({
      file,
      line: tomlLine(text, ["environment", "docker_image"]),
      field: "environment.docker_image",
      value: ready,
      message: "is not the name of an image",
      remedy: 'write one such as "docker.io/library/debian:bookworm"',
    });
  }
  if (files.some(({ path }) => path === DOCKERFILE)) return `dockerfile:${resolve(folder, "environment")}`;
  const compose = files.find(({ path }) => COMPOSE.test(path));
  throw taskInvalid({
    file: `${folder}/${compose?.path ?? IMAGE_FILE}`,
    message: compose === undefined ? "is missing" : ONE_SANDBOX,
    remedy: 'write environment/image.toml, with at least base = "host", and start what is needed in setup.sh',
  });
}

/** An absolute path with no `..`, no glob and no empty part; null when it is not. A trailing `/` is dropped. */
export function cleanPath(path: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (!path.startsWith("/") || /[*?[\]\u0000-\u001f\\]/.test(path) || path.length > 1_000) return null;
  const trimmed = path.length > 1 ? path.replace(/\/$/, "") : path;
  const parts = trimmed.slice(1).split("/");
  return parts.some((part) => part === "" || part === "." || part === "..") ? null : trimmed;
}

/** Null where there is no image.toml. */
function imageDocument(folder: string, files: readonly FolderFile[]): TomlDocument<ImageToml> | null {
  const file = files.find(({ path }) => path === IMAGE_FILE);
  const name = `${folder}/${IMAGE_FILE}`;
  if (!file) return null;
  const document = parseImageToml(textOf(folder, file), name);
  const { base, packages } = document.value;
  if (base !== undefined && base !== "host" && !STORED_IMAGE.test(base)) {
    throw taskInvalid({
      file: name,
      line: tomlLine(document.text, ["base"]),
      field: "base",
      value: base,
      message: "is no image that every machine can make",
      remedy: `write "host", "recipe:NAME" or "debian:SUITE+PACKAGES"${nearestName(base, ["host"]) ? "; host is the nearest" : ""}`,
    });
  }
  if (packages && packages.length > 0) {
    throw taskInvalid({
      file: name,
      line: tomlLine(document.text, ["packages"]),
      field: "packages",
      value: packages,
      message: "are not installed by a task",
      remedy: 'write base = "debian:bookworm+git" for an image with packages, or name programs that base must have',
    });
  }
  return document;
}

interface Placed {
  readonly source: string;
  readonly content: FileContent;
}

function placedFiles(files: readonly FolderFile[], image: TomlDocument<ImageToml>): readonly Placed[] {
  return (image.value.files ?? []).flatMap((entry, index): readonly Placed[] => {
    const fail = (field: "source" | "target", message: string, remedy: string) =>
      taskInvalid({
        file: image.file,
        line: tomlLine(image.text, ["files", index, field]),
        field: `files[${index}].${field}`,
        value: entry[field],
        message,
        remedy,
      });
    const source = cleanPath(`/${entry.source.replace(/^\.\//, "")}`);
    if (source === null || entry.source.startsWith("/")) {
      throw fail(
        "source",
        "is not a path inside environment/",
        "write a relative path without .., such as app/main.py",
      );
    }
    const target = cleanPath(entry.target);
    if (target === null || target === "/") {
      throw fail(
        "target",
        "is not an absolute path in the sandbox",
        "write one without .. or globs, such as /app/main.py",
      );
    }
    const reserved = RESERVED.find((path) => target === path || target.startsWith(`${path}/`));
    if (reserved)
      throw fail("target", `lies in ${reserved}, which belongs to the platform`, "choose another, such as /app");
    const found = below(files, `environment${source}`);
    if (found.length === 0) {
      const names = files.filter(({ path }) => path.startsWith("environment/")).map(({ path }) => path.slice(12));
      const nearest = nearestName(entry.source, names);
      throw fail("source", "does not exist in environment/", nearest ? `write ${nearest}` : "add that file or folder");
    }
    return found.map(({ file, rest }) => ({
      source: file.path,
      content: placedAt(file, `${target}${rest}`, entry.mode ?? null),
    }));
  });
}

/** The file itself, or every file below the folder, with the rest of its path. */
function below(files: readonly FolderFile[], path: string): readonly { file: FolderFile; rest: string }[] {
  return files
    .filter((file) => file.path === path || file.path.startsWith(`${path}/`))
    .map((file) => ({ file, rest: file.path.slice(path.length) }));
}

function placedAt(file: FolderFile, path: string, mode: string | null): FileContent {
  return {
    path,
    bytes: file.bytes,
    mode: mode === null ? (file.isExecutable ? 0o755 : 0o644) : Number.parseInt(mode, 8),
  };
}

function refuseDuplicates(folder: string, contents: readonly FileContent[]): void {
  const seen = new Set<string>();
  for (const { path } of contents) {
    if (seen.has(path)) {
      throw taskInvalid({
        file: `${folder}/${IMAGE_FILE}`,
        field: "files.target",
        value: path,
        message: "is placed twice",
        remedy: "give each file a target of its own",
      });
    }
    seen.add(path);
  }
}

/** A check that every needed program is on PATH, then the task's own script; null when there is neither. */
function setupScript(folder: string, files: readonly FolderFile[], image: ImageToml): string | null {
  const odd = (image.programs ?? []).find((program) => !/^[A-Za-z0-9._+-]+$/.test(program));
  if (odd !== undefined) {
    throw taskInvalid({
      file: `${folder}/${IMAGE_FILE}`,
      field: "programs",
      value: odd,
      message: "is not the name of a program",
      remedy: "write a bare name such as python3, without a path",
    });
  }
  const programs = (image.programs ?? []).map(
    (program) => `command -v ${program} >/dev/null || { echo "this task needs ${program} on PATH" >&2; exit 127; }\n`,
  );
  const file = files.find(({ path }) => path === SETUP_FILE);
  const script = file ? textOf(folder, file) : "";
  if (script.length > 65_536) {
    throw taskInvalid({
      file: `${folder}/${SETUP_FILE}`,
      field: "size",
      value: script.length,
      message: "is over 65536 characters",
      remedy: "place a program by files of environment/image.toml and start it from there",
    });
  }
  return programs.length === 0 && file === undefined ? null : `${programs.join("")}${script}`;
}
