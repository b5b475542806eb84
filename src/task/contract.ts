/** What crosses from the agent's sandbox to grading, as `task.toml` declares it. */
import type { ArtifactContract, ArtifactRule } from "../core/task.ts";
import { cleanPath } from "./task-environment.ts";
import type { TaskToml } from "./task-schema.ts";
import type { TomlDocument } from "./task-toml.ts";
import { wrong } from "./tiers.ts";

type Declared = Exclude<
  NonNullable<NonNullable<NonNullable<TaskToml["sandlot"]>["contract"]>["files"]>[number],
  string
>;

/** The contract, from `artifacts` and `[sandlot.contract]`. Throws `task_invalid`. */
export function contractOf(document: TomlDocument<TaskToml>): ArtifactContract {
  const { artifacts = [], sandlot } = document.value;
  const rules: ArtifactRule[] = artifacts.map((entry, index) => {
    const source = typeof entry === "string" ? entry : entry.source;
    if (typeof entry !== "string" && entry.destination !== undefined && entry.destination !== source) {
      throw wrong(document, ["artifacts", index, "destination"], {
        value: entry.destination,
        message: "asks for another path at grading, which is not served",
        remedy: "leave destination out; the tests find the file under /artifacts at its own path",
      });
    }
    return { path: rulePath(document, ["artifacts", index], source), required: false };
  });
  for (const [index, entry] of (sandlot?.contract?.files ?? []).entries()) {
    rules.push(ruleOf(document, index, typeof entry === "string" ? { path: entry } : entry));
  }
  const twice = rules.find(({ path }, index) => rules.findIndex((rule) => rule.path === path) !== index);
  if (twice) {
    throw wrong(document, artifacts.length > 0 ? ["artifacts"] : ["sandlot", "contract", "files"], {
      value: twice.path,
      message: "is declared twice",
      remedy: "name each path once",
    });
  }
  const collect = (document.value.verifier?.collect ?? []).map(({ command }) => command);
  const state = sandlot?.contract?.state ?? (rules.length > 0 ? "declared" : "workdir");
  if (state === "declared" && rules.length === 0) {
    throw wrong(document, ["sandlot", "contract", "state"], {
      value: state,
      message: "needs files to collect",
      remedy: 'add artifacts = ["/app/result.txt"] at the top, or write "workdir"',
    });
  }
  return {
    state: state === "workdir" ? "workdir" : "declared",
    files: rules,
    bytesMax: sandlot?.contract?.bytes_max ?? 64 * 2 ** 20,
    entriesMax: sandlot?.contract?.entries_max ?? 10_000,
    ...(collect.length > 0 ? { collect } : {}),
  };
}

function ruleOf(document: TomlDocument<TaskToml>, index: number, rule: Declared): ArtifactRule {
  return {
    path: rulePath(document, ["sandlot", "contract", "files", index], rule.path),
    required: rule.required ?? true,
    ...(rule.kind === undefined ? {} : { kind: rule.kind }),
    ...(rule.bytes_max === undefined ? {} : { bytesMax: rule.bytes_max }),
    ...(rule.entries_max === undefined ? {} : { entriesMax: rule.entries_max }),
  };
}

/** An absolute path of one file or folder in the sandbox. Throws `task_invalid`. */
export function rulePath(document: TomlDocument<TaskToml>, at: readonly (string | number)[], value: string): string {
  const path = cleanPath(value);
  if (path !== null && path !== "/") return path;
  throw wrong(document, at, {
    value,
    message: "is not an absolute path of one file or folder",
    remedy: "write one without .. and *, such as /app/report.csv",
  });
}
