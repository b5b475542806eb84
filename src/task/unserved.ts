/**
 * What a task may ask for and this platform cannot give yet. Each is refused by name: a limit or a tool that is
 * accepted and then ignored would be graded wrongly and nobody would know.
 */
import { tomlLine } from "../core/naming.ts";
import { taskInvalid } from "./problem.ts";
import type { TaskToml } from "./task-schema.ts";
import { fieldName, type TomlDocument } from "./task-toml.ts";

type Path = readonly (string | number)[];

interface Refusal {
  readonly path: Path;
  readonly value: unknown;
  readonly message: string;
  readonly remedy: string;
}

/** Throws `task_invalid` for the first field that asks for what is not served. */
export function refuseUnserved({ file, text, value }: TomlDocument<TaskToml>): void {
  const refusals = [...environmentRefusals(value), ...gradingRefusals(value), ...sandlotRefusals(value)];
  const first = refusals.find((refusal) => isAsked(refusal.value));
  if (!first) return;
  throw taskInvalid({
    file,
    line: tomlLine(text, first.path),
    field: fieldName(first.path),
    value: first.value,
    message: first.message,
    remedy: first.remedy,
  });
}

/** Absent, empty and zero ask for nothing. */
function isAsked(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === "") return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== "object" || Object.keys(value).length > 0;
}

const LEAVE_OUT = "leave it out, or wait for a version that serves it";

/** Of a table of variables, those whose values name variables of the host. */
function hostVariables(path: Path, variables: Readonly<Record<string, string>> = {}): readonly Refusal[] {
  return Object.entries(variables)
    .filter(([, value]) => value.includes("${"))
    .map(([name, value]) => ({
      path: [...path, name],
      value,
      message: "reads a variable of the host, which no sandbox may see",
      remedy: "write the value itself",
    }));
}

function environmentRefusals({ environment }: TaskToml): readonly Refusal[] {
  const at = (key: string, value: unknown, message: string, remedy = LEAVE_OUT): Refusal => ({
    path: ["environment", key],
    value,
    message,
    remedy,
  });
  return [
    at("os", environment?.os === "linux" ? undefined : environment?.os, "is not served", 'write "linux"'),
    at("gpus", environment?.gpus, "asks for accelerators, which no provider here has", "write 0 or leave it out"),
    at("gpu_types", environment?.gpu_types, "asks for accelerators, which no provider here has"),
    at("tpu", environment?.tpu, "asks for accelerators, which no provider here has"),
    ...hostVariables(["environment", "env"], environment?.env),
  ];
}

function gradingRefusals({ verifier, solution, steps }: TaskToml): readonly Refusal[] {
  return [
    {
      path: ["steps"],
      value: steps,
      message: "asks for a task of several parts, which is not served",
      remedy: "make each part a task of its own",
    },
    ...hostVariables(["verifier", "env"], verifier?.env),
    ...hostVariables(["solution", "env"], solution?.env),
    ...(verifier?.collect ?? []).map(({ service }, index) => ({
      path: ["verifier", "collect", index, "service"],
      value: service,
      message: "names a container, and all of a task runs in one",
      remedy: "leave service out",
    })),
    {
      path: ["verifier", "environment"],
      value: verifier?.environment,
      message: "is not served; the verifier sandbox has the image and resources of the task",
      remedy: LEAVE_OUT,
    },
    {
      path: ["verifier", "user"],
      value: verifier?.user === "verifier" ? undefined : verifier?.user,
      message: "is not served, because the runner has a user of its own",
      remedy: 'write "verifier" or leave it out',
    },
    ...[
      { key: "network_mode", value: verifier?.network_mode === "no-network" ? undefined : verifier?.network_mode },
      { key: "allowed_hosts", value: verifier?.allowed_hosts },
    ].map(({ key, value }) => ({
      path: ["verifier", key],
      value,
      message: "is not served, because hidden tests run without a network",
      remedy: 'write "no-network" or leave it out, and put what is needed into environment/',
    })),
  ];
}

function sandlotRefusals({ sandlot }: TaskToml): readonly Refusal[] {
  const hasScript = sandlot?.tiers?.some(({ runner }) => runner === "reward-file") ?? false;
  const risk = sandlot?.risk?.find(
    (name) => name === "verifier-network" || (name === "in-process-tests" && !hasScript),
  );
  return [
    atSandlot(
      ["risk"],
      risk,
      "names a weakness that no grading here has",
      'leave it out; only "root-agent" can be accepted',
    ),
    atSandlot(
      ["limits", "idle_sec"],
      sandlot?.limits?.idle_sec,
      "is not served",
      "write limits.command_sec, the time of one command",
    ),
    atSandlot(["resources", "open_files"], sandlot?.resources?.open_files, "is not enforced by any provider here"),
    atSandlot(["network"], sandlot?.network, "is not a table of ours", "write environment.network_mode"),
    atSandlot(
      ["tools"],
      sandlot?.tools,
      "is not served; the tools are shell and submit",
      "put a program into environment/ instead",
    ),
    atSandlot(
      ["contract", "state"],
      sandlot?.contract?.state === "layer" ? "layer" : undefined,
      "is not served",
      'write "workdir" or "declared"',
    ),
    ...contractRefusals(sandlot),
    ...tierRefusals(sandlot),
  ];
}

function contractRefusals(sandlot: TaskToml["sandlot"]): readonly Refusal[] {
  return (sandlot?.contract?.files ?? []).flatMap((rule, index): readonly Refusal[] =>
    typeof rule === "string"
      ? []
      : [
          atSandlot(
            ["contract", "files", index, "schema"],
            rule.schema,
            "is not served",
            "check the form in the tests",
          ),
        ],
  );
}

function tierRefusals(sandlot: TaskToml["sandlot"]): readonly Refusal[] {
  return (sandlot?.tiers ?? []).flatMap((tier, index): readonly Refusal[] => [
    atSandlot(
      ["tiers", index, "path"],
      tier.path === `tests/${tier.name}` ? undefined : tier.path,
      "is not where the tier's tests are looked for",
      `put them into tests/${tier.name}/`,
    ),
    atSandlot(
      ["tiers", index, "reward_mean"],
      tier.runner === "reward-file" ? undefined : tier.reward_mean,
      'is for tiers of the runner "reward-file"',
      "leave it out",
    ),
    atSandlot(
      ["tiers", index, "repeats"],
      tier.repeats === 1 || tier.name === "performance" ? undefined : tier.repeats,
      "is for performance tiers, where medians count",
      "leave it out",
    ),
    atSandlot(
      ["tiers", index, "baseline"],
      tier.baseline,
      "is not where the slow program is looked for",
      "put it into tests/performance/baseline/",
    ),
    atSandlot(
      ["tiers", index, "target"],
      tier.target,
      "is not where the goal is looked for",
      "put the program that earns 1 into tests/performance/reference/",
    ),
  ]);
}

function atSandlot(keys: Path, value: unknown, message: string, remedy = LEAVE_OUT): Refusal {
  return { path: ["sandlot", ...keys], value, message, remedy };
}
