/**
 * The scripts of a task folder that stand in for a policy: the oracle, other correct ways, and deliberately wrong
 * solutions. Each is placed at `/solution` in the agent's sandbox and run as one command.
 */
import { z } from "zod";
import { nearestName, tomlLine } from "../core/naming.ts";
import type { Script, WrongSolution } from "../core/task.ts";
import type { FolderFile } from "../core/task-folder.ts";
import { textOf } from "./folder-files.ts";
import { taskInvalid } from "./problem.ts";
import { readDocument } from "./task-toml.ts";

const EXPECT_SCHEMA = z.object({
  reward_max: z
    .number({ error: "must be a number of at least 0 and below 1; write the highest reward it may earn, such as 0.3" })
    .min(0, { error: "must be at least 0; write the highest reward it may earn, such as 0.3" })
    .lt(1, { error: "must be below 1, because a wrong solution may not solve the task; write one such as 0.3" }),
  fails_tier: z.string({ error: 'must be the name of a tier; write one such as "boundary"' }).optional(),
});

export interface TaskScripts {
  readonly oracle: Script;
  readonly alternatives: readonly Script[];
  readonly wrong: readonly WrongSolution[];
}

/** Reads `solution/` and `wrong/`. Throws `task_invalid`; an oracle is required, the rest is for `task check`. */
export function readScripts(
  folder: string,
  files: readonly FolderFile[],
  tiers: readonly string[],
  solutionVariables: Readonly<Record<string, string>> = {},
): TaskScripts {
  const isOracle = ({ path }: FolderFile) => path.startsWith("solution/") && !path.startsWith("solution/alternative/");
  const oracle = withVariables(scriptOf(folder, "oracle", "solution", files.filter(isOracle)), solutionVariables);
  const alternatives = namesBelow(folder, files, "solution/alternative").map((name) =>
    withVariables(scriptBelow(folder, name, `solution/alternative/${name}`, files), solutionVariables),
  );
  const wrong = namesBelow(folder, files, "wrong").map((name): WrongSolution => {
    const own = files.filter(({ path }) => path.startsWith(`wrong/${name}/`) && path !== `wrong/${name}/expect.toml`);
    const patch = own.find(({ path }) => path === `wrong/${name}/change.patch`);
    if (patch && !own.some(({ path }) => path === `wrong/${name}/solve.sh`)) {
      throw taskInvalid({
        file: `${folder}/${patch.path}`,
        message: "is a patch, which is not served",
        remedy: "write solve.sh that makes the same change",
      });
    }
    return { script: scriptOf(folder, name, `wrong/${name}`, own), ...expectation(folder, name, files, tiers) };
  });
  return { oracle, alternatives, wrong };
}

/** `solution.env` of Harbor: what right solutions are given, and wrong ones are not. */
function withVariables(script: Script, variables: Readonly<Record<string, string>>): Script {
  const words = Object.entries(variables).map(([name, value]) => `${name}='${value.replaceAll("'", "'\\''")}' `);
  return { ...script, commands: script.commands.map((command) => `${words.join("")}${command}`) };
}

function scriptBelow(folder: string, name: string, root: string, files: readonly FolderFile[]): Script {
  return scriptOf(
    folder,
    name,
    root,
    files.filter(({ path }) => path.startsWith(`${root}/`)),
  );
}

function scriptOf(folder: string, name: string, root: string, files: readonly FolderFile[]): Script {
  const solve = files.find(({ path }) => path === `${root}/solve.sh`);
  if (!solve) {
    throw taskInvalid({
      file: `${folder}/${root}/solve.sh`,
      message: "is missing",
      remedy: "add it: a bash script that the platform runs in place of a policy",
    });
  }
  textOf(folder, solve);
  return {
    name,
    answer: null,
    files: files.map(({ path, bytes, isExecutable }) => ({
      path: `/solution${path.slice(root.length)}`,
      bytes,
      mode: isExecutable || path.endsWith(".sh") ? 0o755 : 0o644,
    })),
    commands: ["bash /solution/solve.sh"],
  };
}

/** Names of the folders directly below `root`, sorted. Throws for a file that lies there and for an odd name. */
function namesBelow(folder: string, files: readonly FolderFile[], root: string): readonly string[] {
  const names = new Set<string>();
  for (const { path } of files) {
    if (!path.startsWith(`${root}/`)) continue;
    const [name = "", ...rest] = path.slice(root.length + 1).split("/");
    if (rest.length === 0 || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
      throw taskInvalid({
        file: `${folder}/${path}`,
        field: "name",
        value: name,
        message: rest.length === 0 ? `lies directly in ${root}/` : "is not a kebab-case name",
        remedy: `put it into ${root}/NAME/, with a name such as off-by-one`,
      });
    }
    names.add(name);
  }
  return [...names].sort();
}

function expectation(
  folder: string,
  name: string,
  files: readonly FolderFile[],
  tiers: readonly string[],
): Pick<WrongSolution, "rewardMax" | "failsTier"> {
  const path = `wrong/${name}/expect.toml`;
  const file = files.find((candidate) => candidate.path === path);
  if (!file) {
    throw taskInvalid({
      file: `${folder}/${path}`,
      message: "is missing",
      remedy: "add it with reward_max = the highest reward this solution may earn, and fails_tier = the tier it fails",
    });
  }
  const { text, value } = readDocument(textOf(folder, file), `${folder}/${path}`, EXPECT_SCHEMA, () => true);
  if (value.fails_tier !== undefined && !tiers.includes(value.fails_tier)) {
    throw taskInvalid({
      file: `${folder}/${path}`,
      line: tomlLine(text, ["fails_tier"]),
      field: "fails_tier",
      value: value.fails_tier,
      message: "is not a tier of task.toml",
      remedy: `write ${nearestName(value.fails_tier, tiers) ?? tiers.join(" or ")}`,
    });
  }
  return { rewardMax: value.reward_max, failsTier: value.fails_tier ?? null };
}
