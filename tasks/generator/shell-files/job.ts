/**
 * A job on a tree of files: which files count, which of equal ones is kept, where each goes under what name, and what the
 * report says. Drawn from independent rules, so that few jobs are alike.
 */
import { createHash } from "node:crypto";
import type { Random } from "../../../src/core/random.ts";

export type Select =
  | { readonly kind: "all" }
  | { readonly kind: "extensions"; readonly of: readonly string[] }
  | { readonly kind: "bytes-min"; readonly bytes: number }
  | { readonly kind: "first-line"; readonly word: string };

export type Place =
  | { readonly kind: "extension" }
  | { readonly kind: "letter" }
  | { readonly kind: "size"; readonly small: number; readonly large: number }
  | { readonly kind: "folder" }
  | { readonly kind: "field"; readonly field: string };

export type Rename = "none" | "lower" | "underscores" | "numbered" | "folder-prefix";
export type Dedup = "none" | "first" | "last";
export type Collision = "suffix" | "prefix" | "larger";
export type Report = "path-size" | "size-path" | "hash-path" | "path-origin";

export interface Job {
  readonly script: string;
  readonly source: string;
  readonly target: string;
  readonly report: Report;
  readonly reportName: string;
  readonly other: string;
  readonly select: Select;
  readonly place: Place;
  readonly rename: Rename;
  readonly dedup: Dedup;
  readonly collision: Collision;
  /** Whether files of which a part of the path begins with a dot count. */
  readonly takesHidden: boolean;
  readonly exitCode: number;
}

const SCRIPTS = ["tidy", "file-away", "collect", "gather", "shelve", "arrange", "intake", "sweep", "stow", "regroup"];
const SOURCES = [
  "inbox",
  "incoming",
  "scans",
  "dropbox",
  "upload",
  "mailroom",
  "attic",
  "camera",
  "exports",
  "handover",
];
const TARGETS = ["archive", "shelf", "sorted", "library", "store", "cabinet", "filed", "vault", "depot", "racks"];
const REPORTS = ["inventory", "ledger", "manifest", "register", "catalogue", "index"];
const OTHERS = ["other", "rest", "misc", "unknown"];
const EXTENSIONS = ["txt", "md", "jpg", "csv", "log", "pdf", "json", "conf"];
const FIELDS = ["team", "region", "status", "project", "site"];
const WORDS = ["DRAFT", "FINAL", "KEEP", "INVOICE", "URGENT"];

/** With more `rules`, fewer of them are the plain ones. */
export function drawJob(random: Random, rules: number): Job {
  const surface = random.fork("surface");
  const structure = random.fork("structure");
  const isPlain = (label: string): boolean => structure.fork(label).float() > rules / 5;
  const select = (): Select =>
    structure
      .fork("select")
      .pick<() => Select>([
        () => ({ kind: "extensions", of: surface.fork("extensions").shuffle(EXTENSIONS).slice(0, 3).sort() }),
        () => ({ kind: "bytes-min", bytes: surface.fork("bytes").integer(2, 9) * 4 }),
        () => ({ kind: "first-line", word: surface.fork("word").pick(WORDS) }),
      ])();
  const place = structure.fork("place").pick<() => Place>([
    () => ({ kind: "extension" }),
    () => ({ kind: "letter" }),
    () => ({
      kind: "size",
      small: surface.fork("small").integer(6, 14),
      large: surface.fork("large").integer(24, 40),
    }),
    () => ({ kind: "folder" }),
    () => ({ kind: "field", field: surface.fork("field").pick(FIELDS) }),
  ])();
  return {
    script: surface.fork("script").pick(SCRIPTS),
    source: surface.fork("source").pick(SOURCES),
    target: surface.fork("target").pick(TARGETS),
    report: structure.fork("report").pick(["path-size", "size-path", "hash-path", "path-origin"]),
    reportName: surface.fork("report").pick(REPORTS),
    other: surface.fork("other").pick(OTHERS),
    select: isPlain("select?") ? { kind: "all" } : select(),
    place,
    rename: isPlain("rename?")
      ? "none"
      : structure.fork("rename").pick(["lower", "underscores", "numbered", "folder-prefix"]),
    dedup: isPlain("dedup?") ? "none" : structure.fork("dedup").pick(["first", "last"]),
    collision: structure.fork("collision").pick(["suffix", "prefix", "larger"]),
    takesHidden: structure.fork("hidden").float() < 0.6,
    exitCode: surface.fork("exit").integer(2, 5),
  };
}

/** A tree: text by path below the source. Names here are plain; odd ones are the hidden tests' own. */
export type Tree = Readonly<Record<string, string>>;

/** What the target holds after the job, the report included; the visible example is made by it. */
export function targetOf(job: Job, tree: Tree): Readonly<Record<string, string>> {
  const kept = new Map<string, { readonly text: string; readonly origin: string }>();
  const order: string[] = [];
  let number = 0;
  for (const path of keptPaths(job, tree)) {
    const text = tree[path] ?? "";
    number += 1;
    const wanted = `${folderOf(job, path, text)}/${nameOf(job, path, number)}`;
    const at = freePlace(job, wanted, text, kept);
    if (at === null) continue;
    if (!kept.has(at)) order.push(at);
    kept.set(at, { text, origin: path });
  }
  const records = order.map((at) => record(job, at, kept.get(at)?.text ?? "", kept.get(at)?.origin ?? ""));
  const files = [...kept].map(([at, { text }]) => [at, text] as const);
  return { ...Object.fromEntries(files), [job.reportName]: records.map((line) => `${line}\0`).join("") };
}

function keptPaths({ select, dedup, takesHidden }: Job, tree: Tree): readonly string[] {
  const paths = Object.keys(tree)
    .sort()
    .filter((path) => takesHidden || !path.split("/").some((part) => part.startsWith(".")))
    .filter((path) => isSelected(select, path, tree[path] ?? ""));
  if (dedup === "none") return paths;
  const ordered = dedup === "first" ? paths : paths.toReversed();
  const seen = new Set<string>();
  const kept = ordered.filter((path) => !seen.has(tree[path] ?? "") && seen.add(tree[path] ?? ""));
  return kept.sort();
}

function isSelected(select: Select, path: string, text: string): boolean {
  switch (select.kind) {
    case "all":
      return true;
    case "extensions":
      return select.of.includes(extensionOf(path, ""));
    case "bytes-min":
      return text.length >= select.bytes;
    case "first-line":
      return (text.split("\n")[0] ?? "").includes(select.word);
  }
}

function extensionOf(path: string, none: string): string {
  const name = path.split("/").at(-1) ?? "";
  const dot = name.lastIndexOf(".");
  return dot > 0 && dot < name.length - 1 ? name.slice(dot + 1).toLowerCase() : none;
}

function folderOf({ place, other }: Job, path: string, text: string): string {
  switch (place.kind) {
    case "extension":
      return extensionOf(path, other);
    case "letter":
      return /^[a-z]/i.exec(path.split("/").at(-1) ?? "")?.[0].toLowerCase() ?? other;
    case "size":
      return text.length < place.small ? "small" : text.length < place.large ? "medium" : "large";
    case "folder":
      return path.includes("/") ? (path.split("/")[0] ?? other) : other;
    case "field":
      return new RegExp(`^${place.field}: ([a-z]+)$`).exec(text.split("\n")[0] ?? "")?.[1] ?? other;
  }
}

function nameOf({ rename }: Job, path: string, number: number): string {
  const name = path.split("/").at(-1) ?? "";
  switch (rename) {
    case "none":
      return name;
    case "lower":
      return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
    case "underscores":
      return name.replaceAll(" ", "_");
    case "numbered":
      return `${String(number).padStart(4, "0")}-${name}`;
    case "folder-prefix":
      return path.includes("/") ? `${path.split("/").at(-2)}-${name}` : name;
  }
}

function freePlace(
  { collision }: Job,
  wanted: string,
  text: string,
  kept: ReadonlyMap<string, { readonly text: string }>,
): string | null {
  const there = kept.get(wanted);
  if (there === undefined) return wanted;
  if (collision === "larger") return text.length > there.text.length ? wanted : null;
  const [folder = "", name = ""] = wanted.split("/");
  for (let number = 2; ; number += 1) {
    const next = collision === "suffix" ? `${folder}/${name}.${number}` : `${folder}/${number}-${name}`;
    if (!kept.has(next)) return next;
  }
}

function record({ report }: Job, at: string, text: string, origin: string): string {
  switch (report) {
    case "path-size":
      return `${at}\t${text.length}`;
    case "size-path":
      return `${text.length} ${at}`;
    case "hash-path":
      return `${createHash("sha256").update(text).digest("hex")}  ${at}`;
    case "path-origin":
      return `${at}\t${origin}`;
  }
}
