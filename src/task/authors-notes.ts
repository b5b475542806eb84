/** What an author says about a task and no episode needs: the table of requirements, keywords,
 * and how hard it is thought to be. */
import { nearestName } from "../core/naming.ts";
import type { Requirement, Task } from "../core/task.ts";
import { CATALOGUE } from "./check/catalogue.ts";
import type { TaskToml } from "./task-schema.ts";
import type { ManifestEntry } from "./task-tests.ts";
import type { TomlDocument } from "./task-toml.ts";
import { wrong } from "./tiers.ts";

/** Throws `task_invalid` for a requirement that stands twice, or whose test is not in the manifest. */
export function authorsNotes(
  document: TomlDocument<TaskToml>,
  manifest: readonly ManifestEntry[],
): Pick<Task, "requirements" | "difficulty" | "keywords" | "waivers"> {
  const { requirements = [], difficulty } = document.value.sandlot ?? {};
  const { keywords = [] } = document.value.task ?? {};
  const known = manifest.map(({ id }) => id);
  const seen = new Set<string>();
  const listed = requirements.map(({ id, text, kind = "functional", tests }, index): Requirement => {
    const path = ["sandlot", "requirements", index];
    if (seen.has(id)) {
      const remedy = "give each requirement an id of its own";
      throw wrong(document, [...path, "id"], { value: id, message: "stands twice", remedy });
    }
    seen.add(id);
    const absent = tests.findIndex((test) => !known.includes(test));
    if (absent >= 0) {
      const value = tests[absent] ?? "";
      const nearest = nearestName(value, known);
      const remedy = nearest === null ? "write the id of a hidden test" : `write "${nearest}"`;
      throw wrong(document, [...path, "tests", absent], { value, message: "is not in the manifest", remedy });
    }
    return { id, text, kind, tests };
  });
  const waivers = waiversOf(document);
  return {
    ...(waivers.length === 0 ? {} : { waivers }),
    ...(listed.length === 0 ? {} : { requirements: listed }),
    ...(keywords.length === 0 ? {} : { keywords }),
    ...(difficulty === undefined
      ? {}
      : { difficulty: { level: difficulty.level ?? 3, dials: difficulty.dials ?? {} } }),
  };
}

/** A waiver names a check there is, one of severity W: what blocks can not be waived. */
function waiversOf(document: TomlDocument<TaskToml>): NonNullable<Task["waivers"]> {
  const { waivers = [] } = document.value.sandlot ?? {};
  const waivable = CATALOGUE.filter(({ severity }) => severity === "W").map(({ id }): string => id);
  for (const [index, { check }] of waivers.entries()) {
    if (waivable.includes(check)) continue;
    const isBlocking = CATALOGUE.some(({ id }) => id === check);
    const nearest = nearestName(check, waivable);
    throw wrong(document, ["sandlot", "waivers", index, "check"], {
      value: check,
      message: isBlocking ? "blocks whatever the reason" : "is no check",
      remedy: isBlocking ? "mend the task instead" : `write ${nearest ?? "the id of a check of severity W"}`,
    });
  }
  return waivers;
}
