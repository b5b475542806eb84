/**
 * The judge of `task.toml`: `[sandlot.judge]` with its rubric items, votes, model and share of the reward. It is for
 * what code cannot decide; a task always has tests beside it.
 */
import { z } from "zod";
import type { JudgeSpec } from "../core/judge.ts";
import type { Refuse } from "./milestone-fields.ts";

const SHARE_MAX = 0.3;
const VOTES = 3;
const VOTES_MAX = 15;
const ITEMS_MAX = 32;

const text = (shape: RegExp, meaning: string, example: string) => {
  const error = `must be ${meaning}; write one such as "${example}"`;
  return z.string({ error }).regex(shape, { error });
};
const SHARE = `must be a number above 0 and at most ${SHARE_MAX}; write one such as 0.2`;
const VOTE = `must be an odd whole number from 1 to ${VOTES_MAX}; write one such as ${VOTES}`;
const WEIGHT = "must be a number above 0 and at most 1000; write one such as 1.0";
const ITEMS = "must be a list of tables; write [[sandlot.judge.items]] with name and question";

/** Of `[sandlot.judge]`. */
export const JUDGE_SCHEMA = z.object(
  {
    items: z
      .array(
        z.object(
          {
            name: text(/^[a-z0-9]+(-[a-z0-9]+)*$/, "a kebab-case name", "names-the-cause"),
            question: text(
              /^[^\n]{8,500}\?$/,
              "one question that yes or no answers",
              "Does the report name the cause?",
            ),
            weight: z.number({ error: WEIGHT }).gt(0, { error: WEIGHT }).max(1_000, { error: WEIGHT }).optional(),
          },
          { error: ITEMS },
        ),
        { error: ITEMS },
      )
      .min(1, { error: ITEMS })
      .max(ITEMS_MAX, { error: `must be at most ${ITEMS_MAX} tables; ask fewer questions` }),
    share: z.number({ error: SHARE }).gt(0, { error: SHARE }).max(SHARE_MAX, { error: SHARE }),
    votes: z
      .number({ error: VOTE })
      .int({ error: VOTE })
      .min(1, { error: VOTE })
      .max(VOTES_MAX, { error: VOTE })
      .refine((votes) => votes % 2 === 1, { error: VOTE })
      .optional(),
    model: text(/^\S.{0,199}$/, "the name of a model at the endpoint", "judge-large").optional(),
  },
  { error: "must be a table; write [sandlot.judge] with share and items" },
);

/** The judge of a task, or undefined where code decides alone. Throws what `refuse` makes of the first wrong field. */
export function judgeOf(declared: z.infer<typeof JUDGE_SCHEMA> | undefined, refuse: Refuse): JudgeSpec | undefined {
  if (declared === undefined) return undefined;
  const names = declared.items.map(({ name }) => name);
  const items = declared.items.map(({ name, question, weight }, index) => {
    if (names.indexOf(name) !== index) {
      const path = ["sandlot", "judge", "items", index, "name"];
      throw refuse({ path, value: name, message: "stands twice", remedy: "give each item a name of its own" });
    }
    return { name, question, weight: weight ?? 1 };
  });
  return { items, share: declared.share, votes: declared.votes ?? VOTES, model: declared.model ?? null };
}
