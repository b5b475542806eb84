/**
 * Settles the old spellings of `task.toml` (`version`, `memory = "4G"`, `storage = "10G"`, `allow_internet`) and turns
 * the resources into sandbox limits. An old key that disagrees with its successor is an error.
 */
import { tomlLine } from "../core/naming.ts";
import type { SandboxLimits } from "../core/sandbox.ts";
import { problemText, taskInvalid } from "./problem.ts";
import type { TaskToml } from "./task-schema.ts";
import { fieldName, type TomlDocument } from "./task-toml.ts";

const MIB = 2 ** 20;
const KNOWN_VERSIONS = ["1.0", "1.1", "1.2", "1.3", "1.4"];

/** The same document with the new spellings filled in and the version judged. Throws `task_invalid`. */
export function settleSpellings(document: TomlDocument<TaskToml>): TomlDocument<TaskToml> {
  const { file, text, value } = document;
  const { environment = {} } = value;
  const disagree = (old: readonly string[], successor: readonly string[], oldValue: unknown, newValue: unknown) =>
    taskInvalid({
      file,
      line: tomlLine(text, old),
      field: fieldName(old),
      value: oldValue,
      message: `disagrees with ${fieldName(successor)} = ${JSON.stringify(newValue)}`,
      remedy: `leave ${fieldName(old)} out, it is the old spelling`,
    });
  const size = (oldKey: "memory" | "storage", key: "memory_mb" | "storage_mb"): number | undefined => {
    const old = environment[oldKey];
    if (old === undefined) return environment[key];
    const mib = mebibytes(old);
    if (mib === null) {
      throw taskInvalid({
        file,
        line: tomlLine(text, ["environment", oldKey]),
        field: `environment.${oldKey}`,
        value: old,
        message: "is not a size of at least 1 MiB",
        remedy: `write environment.${key} with a number of MiB, such as 512`,
      });
    }
    if (environment[key] !== undefined && environment[key] !== mib) {
      throw disagree(["environment", oldKey], ["environment", key], old, environment[key]);
    }
    return mib;
  };
  if (environment.allow_internet === true && environment.network_mode === "no-network") {
    throw disagree(["environment", "allow_internet"], ["environment", "network_mode"], true, "no-network");
  }
  if (value.version !== undefined && value.schema_version !== undefined && value.version !== value.schema_version) {
    throw disagree(["version"], ["schema_version"], value.version, value.schema_version);
  }
  const memory = size("memory", "memory_mb");
  const storage = size("storage", "storage_mb");
  const settled = {
    ...environment,
    ...(memory === undefined ? {} : { memory_mb: memory }),
    ...(storage === undefined ? {} : { storage_mb: storage }),
  };
  return {
    ...document,
    value: { ...value, environment: settled },
    warnings: [...document.warnings, ...versionWarnings(document)],
  };
}

/** Limits of the acting sandbox; what a task of ours leaves out is small, what a foreign one leaves out is roomy. */
export function resourcesOf({ environment, sandlot }: TaskToml): SandboxLimits {
  const memoryBytes = (environment?.memory_mb ?? (sandlot ? 512 : 2048)) * MIB;
  return {
    cpus: environment?.cpus ?? 1,
    memoryBytes,
    diskBytes: (environment?.storage_mb ?? (sandlot ? 1024 : 10_240)) * MIB,
    filesMax: sandlot?.resources?.inodes ?? 200_000,
    processesMax: sandlot?.resources?.processes ?? 512,
    shmBytes: Math.min(64 * MIB, memoryBytes / 4),
  };
}

function versionWarnings({ file, text, value }: TomlDocument<TaskToml>): readonly string[] {
  const version = value.schema_version ?? value.version;
  if (version === undefined) {
    return [
      problemText({
        file,
        field: "schema_version",
        message: "is missing and 1.0 is assumed",
        remedy: 'write schema_version = "1.4"',
      }),
    ];
  }
  if (KNOWN_VERSIONS.includes(version)) return [];
  const problem = {
    file,
    line: tomlLine(text, [value.schema_version === undefined ? "version" : "schema_version"]),
    field: value.schema_version === undefined ? "version" : "schema_version",
    value: version,
    message: "is newer than this reader",
    remedy: "check that no field it adds is needed",
  };
  if (/^1\.\d+$/.test(version)) return [problemText(problem)];
  throw taskInvalid({ ...problem, message: "is not a version this reader knows", remedy: 'write "1.4"' });
}

/** `512M`, `4G`, `4Gi`, `1024` (bytes are not read) in MiB; null when it is none of these. */
function mebibytes(size: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*([MmGgTt])(?:i?[Bb])?$/.exec(size.trim());
  if (!match) return null;
  const unit = { m: 1, g: 1024, t: 1024 * 1024 }[(match[2] ?? "m").toLowerCase()] ?? 1;
  const mib = Math.round(Number(match[1]) * unit);
  return mib >= 1 && mib <= 1_048_576 ? mib : null;
}
