/** Checks 24, 25 and 26: no secret in the folder, and nothing that another day would fetch otherwise. */
import type { Task } from "../../../core/task.ts";
import type { FolderFile } from "../../../core/task-folder.ts";
import type { CheckContext, Finding } from "../check-contract.ts";
import { fileName, firstLine } from "./test-sources.ts";

const IMAGE_FILE = "environment/image.toml";
/** Forms that nothing but a secret has. */
const SECRETS: readonly (readonly [string, RegExp])[] = [
  ["a private key", /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/],
  ["an access key of a cloud", /\bAKIA[0-9A-Z]{16}\b/],
  ["a token of a code host", /\b(?:gh[pousr]_[A-Za-z0-9]{36}|glpat-[A-Za-z0-9_-]{20})\b/],
  ["a key of a model endpoint", /\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{32,}\b/],
  ["a token of a chat", /\bxox[abprs]-[A-Za-z0-9-]{20,}/],
];

/** Check 24: no file of the folder holds the form of a secret. */
export function noSecrets({ task, files }: CheckContext): Finding {
  if (files === null) return { status: "skip", evidence: "it is made in memory and has no files" };
  for (const { path, bytes } of files) {
    const text = textOf(bytes);
    for (const [what, pattern] of SECRETS) {
      const hit = text === null ? null : firstLine(text, pattern);
      if (hit === null) continue;
      const file = fileName(task, path);
      const evidence = `${file}:${hit.line} holds ${what}; make one in setup.sh, or leave it out`;
      return { status: "fail", evidence, file, line: hit.line };
    }
  }
  return { status: "pass", evidence: `${files.length} files hold no known form of a secret` };
}

/** Check 25: the image is the same another day. */
export function imagePinned({ task, files }: CheckContext): Finding {
  const { image, folder } = task;
  if (image === "host") return { status: "skip", evidence: "the base host is the machine's own and is not fetched" };
  if (image.startsWith("dockerfile:")) return stagesPinned(task, files ?? []);
  const isPinned = /^sha256:|@sha256:[0-9a-f]{64}$|^recipe:|^debian:[a-z]+@\d{8}/.test(image);
  if (isPinned) return { status: "pass", evidence: `${image} is a recipe with a lock, or names a day or a digest` };
  const hasRecipe = files?.some(({ path }) => path === IMAGE_FILE) ?? false;
  return {
    status: "fail",
    evidence: `${image} names neither digest nor day, so another day gives another image`,
    file: folder === null ? null : `${folder}/${hasRecipe ? IMAGE_FILE : "task.toml"}`,
  };
}

/** Each image that a Dockerfile begins with has a digest; an earlier stage of its own needs none. */
function stagesPinned(task: Task, files: readonly FolderFile[]): Finding {
  const path = "environment/Dockerfile";
  const text = textOf(files.find((file) => file.path === path)?.bytes ?? new Uint8Array()) ?? "";
  const stages = new Set(["scratch"]);
  const file = fileName(task, path);
  for (const [index, line] of text.split("\n").entries()) {
    const from = /^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?/i.exec(line);
    if (from === null) continue;
    const [, base = "", stage] = from;
    if (!stages.has(base.toLowerCase()) && !/@sha256:[0-9a-f]{64}$/.test(base)) {
      const evidence = `${file}:${index + 1} begins with ${base}, which names no digest, so another day gives another image`;
      return { status: "fail", evidence, file, line: index + 1 };
    }
    if (stage !== undefined) stages.add(stage.toLowerCase());
  }
  return { status: "pass", evidence: "every image that the Dockerfile begins with is named by its digest" };
}

/** Check 26: lists of packages name exact versions. */
export function dependenciesPinned({ task, files }: CheckContext): Finding {
  const lists = (files ?? []).filter(({ path }) => /(^|\/)(requirements[\w-]*\.txt|package\.json)$/.test(path));
  if (lists.length === 0) return { status: "skip", evidence: "it holds no list of packages" };
  for (const { path, bytes } of lists) {
    const loose = looseLine(path, textOf(bytes) ?? "", files ?? []);
    if (loose === null) continue;
    const file = fileName(task, path);
    return { status: "fail", evidence: `${file}:${loose.line} is not pinned: ${loose.text}`, file, line: loose.line };
  }
  return { status: "pass", evidence: `${lists.length} lists of packages name exact versions` };
}

function looseLine(path: string, text: string, files: readonly FolderFile[]) {
  if (path.endsWith(".txt")) return firstLine(text, /^\s*[A-Za-z][\w.-]*\s*(?:$|[<>~!]|\[)/);
  const lock = path.replace(/package\.json$/, "package-lock.json");
  if (files.some((file) => file.path === lock)) return null;
  return firstLine(text, /^\s*"[^"]+":\s*"(?:[\^~*>]|latest)/);
}

function textOf(bytes: Uint8Array): string | null {
  return bytes.includes(0) ? null : new TextDecoder().decode(bytes);
}
