/**
 * `task-set.toml`: a named, versioned list of tasks and generators with weights and splits. What it means is pinned by a
 * lock file beside it; a published version never changes its tasks.
 */
import { z } from "zod";
import type { Task } from "../../core/task.ts";
import type { TomlDocument } from "../task-toml.ts";
import { readDocument } from "../task-toml.ts";

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const name = (example: string) => {
  const error = `must be a kebab-case name; write one such as "${example}"`;
  return z.string({ error }).regex(NAME, { error });
};
const whole = (least: number, most: number, example: number) => {
  const error = `must be a whole number from ${least} to ${most}; write a number such as ${example}`;
  return z.number({ error }).int({ error }).min(least, { error }).max(most, { error });
};
const names = (example: string) => {
  const error = `must be a list of names; write one such as ["${example}"]`;
  return z.array(z.string({ error }), { error });
};
const text = (example: string) => {
  const error = `must be a text; write one such as "${example}"`;
  return z.string({ error }).min(1, { error });
};

export const SET_SPLITS = ["train", "held-out", "eval"] as const;

export type SetSplit = (typeof SET_SPLITS)[number];

const filter = z.object(
  {
    families: names("sql-query").optional(),
    keywords: names("python").optional(),
    keys: names("sql-query/top-sellers-1a2b3c").optional(),
    level_min: whole(1, 5, 1).optional(),
    level_max: whole(1, 5, 3).optional(),
  },
  { error: 'must be a table; write { families = ["sql-query"], level_max = 3 }' },
);

const weightError = "must be a number from 0 to 1000; write a number such as 1.0";

const entry = z.object(
  {
    path: text("tasks/sql-query").optional(),
    generator: text("tasks/generator/data-pipeline").optional(),
    split: z.enum(SET_SPLITS, { error: `must be one of ${SET_SPLITS.join(", ")}; write one of them` }).optional(),
    weight: z
      .number({ error: weightError })
      .min(0, { error: weightError })
      .max(1_000, { error: weightError })
      .optional(),
    filter: filter.optional(),
    seed: whole(0, Number.MAX_SAFE_INTEGER, 1).optional(),
    count: whole(1, 100_000, 100).optional(),
    dials: z.record(z.string(), z.number({ error: "must be a number; write one such as 3" })).optional(),
  },
  { error: 'must be a table with path or generator; write [[tasks]] and path = "tasks/sql-query"' },
);

const SET_SCHEMA = z.object({
  name: name("sql-first-steps"),
  version: whole(1, 1_000_000, 1),
  description: text("Questions to databases, easy ones first.").optional(),
  tasks: z
    .array(entry, { error: "must be a list of tables; write [[tasks]] for each folder or generator" })
    .min(1, { error: 'must name at least one folder or generator; write [[tasks]] and path = "tasks"' }),
});

/** One task of a set. */
export interface SetTask {
  readonly task: Task;
  readonly split: SetSplit;
  /** Its share of draws among the tasks of its split, relative to theirs. */
  readonly weight: number;
}

export interface TaskSet {
  readonly name: string;
  readonly version: number;
  readonly file: string;
  readonly tasks: readonly SetTask[];
}

export type SetToml = z.infer<typeof SET_SCHEMA>;
export type SetEntryToml = SetToml["tasks"][number];

/** Reads the text of a task set; every unknown key is an error. Throws `task_invalid`. */
export function parseSet(text: string, file: string): TomlDocument<SetToml> {
  return readDocument(text, file, SET_SCHEMA, () => true);
}
