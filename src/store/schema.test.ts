import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MIGRATIONS } from "./schema.ts";

let database: DatabaseSync;
beforeEach(() => {
  database = new DatabaseSync(":memory:");
  for (const migration of MIGRATIONS) database.exec(migration);
  database.exec(`
    INSERT INTO run (run_no, run_id, kind, state, name, created_at, updated_at, recipe_hash, config)
      VALUES (1, '01RUN', 'train', 'active', 'light', 1, 1, '', '{}');
    INSERT INTO episode_group VALUES (1, 0, 'train', 1, 'k', 'h', 'r', 'train', '1', 1), (1, 1, 'train', 1, 'k', 'h', 'r', 'train', '1', 1);
    INSERT INTO episode (run_no, episode_no, group_no, member, sampling_seed, not_before) VALUES (1, 0, 0, 0, '1', 0);
    INSERT INTO finished VALUES (1, 5, 1, 0, '1', 'done', 1, 1, NULL, 1);
    INSERT INTO attempt VALUES (1, 5, 1, 1, 'w', 1, 2, 'accepted', NULL, NULL);
    INSERT INTO object VALUES ('pack', 10, 1);
    INSERT INTO step VALUES (1, 1, 1, 'batch-1', 1, 'w', 1, NULL);
    INSERT INTO batch_step VALUES (1, 0, 1, 0, NULL);`);
});
afterEach(() => database.close());

const trajectory = (columns: {
  outcome: string;
  cause: string;
  stop: string;
  failure: string;
  reward: string;
}): string =>
  `INSERT INTO trajectory VALUES (1, 5, 'pack', 'd', NULL, '${columns.outcome}', '${columns.cause}', ${columns.stop}, ${columns.failure}, ${columns.reward}, 0, 0, 0, 1, 1, 1)`;
const graded = { outcome: "graded", cause: "completed", stop: "'submitted'", failure: "NULL", reward: "0.5" };
const failed = { outcome: "failed", cause: "infra_during", stop: "NULL", failure: "'sandbox_lost'", reward: "NULL" };
const cheating = { ...graded, cause: "cheating", reward: "-0.5" };
const finding = (change: Record<string, string> = {}): string => {
  const said = { tier: "'A'", pattern: "29", isPunished: "1", effect: "'attempted'", ...change };
  return `${trajectory(cheating)}; INSERT INTO finding VALUES (1, 1, 5, 'key', 'planted', 1, ${said.tier}, ${said.pattern},
    ${said.effect}, ${said.isPunished}, 'a file', NULL, NULL, NULL, '[]', 1)`;
};
const regrade = (reward: string, failure: string): string =>
  `${trajectory(graded)}; INSERT INTO verdict_history VALUES (1, 1, 5, 'again', 'v', ${reward}, ${reward === "NULL" ? "NULL" : "'{}'"}, ${failure}, ${failure}, 1)`;
const lease = "worker_id = 'w', owner_token = 't', lease_until = 9";

test.each([
  ["a graded trajectory", trajectory(graded)],
  ["a failed trajectory without a reward", trajectory(failed)],
  ["a penalty for cheating", trajectory(cheating)],
  ["a limit with the reward of its state", trajectory({ ...graded, cause: "policy_limit", stop: "'turn_limit'" })],
  ["a finding that is punished", finding()],
  ["a second verdict", regrade("1", "NULL")],
  ["a second grading that failed", regrade("NULL", "'verifier_crashed'")],
  ["a lease under a higher fence", `UPDATE episode SET state = 'leased', attempt_no = 1, fence = 1, ${lease}`],
])("the books take %s", (_title, sql) => {
  database.exec(sql);
});

test.each([
  ["a failed trajectory with a reward", trajectory({ ...failed, reward: "0" }), /CHECK/],
  ["a graded trajectory without a reward", trajectory({ ...graded, reward: "NULL" }), /CHECK|no such cause/],
  ["an infinite reward", trajectory({ ...graded, reward: "9e999" }), /CHECK|no such cause/],
  ["a reward below 0 without cheating", trajectory({ ...graded, reward: "-0.1" }), /no such cause/],
  ["a reward above 1", trajectory({ ...graded, reward: "1.01" }), /no such cause/],
  ["a penalty beyond -0.5", trajectory({ ...cheating, reward: "-0.51" }), /no such cause/],
  ["a reward for cheating", trajectory({ ...cheating, reward: "0.1" }), /no such cause/],
  [
    "a fault of the policy with a reward",
    trajectory({ ...graded, cause: "policy_fault", stop: "'invalid_calls'" }),
    /no such cause/,
  ],
  ["a limit called completed", trajectory({ ...graded, stop: "'turn_limit'" }), /no such cause/],
  ["a cause that is none", trajectory({ ...graded, cause: "good" }), /no such cause/],
  ["a failure by a cause of graded ones", trajectory({ ...failed, cause: "completed" }), /no such cause/],
  ["a punished finding of tier B", finding({ tier: "'B'" }), /CHECK/],
  ["a finding of no tier", finding({ tier: "'E'", isPunished: "0" }), /CHECK/],
  ["a finding outside the catalogue", finding({ pattern: "65" }), /CHECK/],
  ["a changed finding", `${finding()}; UPDATE finding SET tier = 'C'`, /only added/],
  [
    "a decision without a reason",
    `${finding()}; INSERT INTO review VALUES (1, 1, 'confirmed', 'ann', ' ', 1)`,
    /CHECK/,
  ],
  [
    "a changed decision",
    `${finding()}; INSERT INTO review VALUES (1, 1, 'confirmed', 'ann', 'seen', 1); UPDATE review SET decision = 'legitimate'`,
    /only added/,
  ],
  ["a second grading with a reward and a failure", regrade("1", "'verifier_crashed'"), /CHECK/],
  ["a second verdict written over", `${regrade("1", "NULL")}; UPDATE verdict_history SET reward = 0`, /only added/],
  ["a reward that is text", trajectory({ ...graded, reward: "'good'" }), /cannot store TEXT|no such cause/],
  ["a trajectory of an object that is not there", trajectory(graded).replace("'pack'", "'none'"), /FOREIGN KEY/],
  ["a trajectory of an episode that has not ended", trajectory(graded).replace("(1, 5", "(1, 0"), /FOREIGN KEY/],
  ["a lease under the old fence", `UPDATE episode SET state = 'leased', ${lease}`, /a fence only grows/],
  ["a fence that falls", "UPDATE episode SET fence = 4; UPDATE episode SET fence = 3", /a fence only grows/],
  ["a lease of nobody", "UPDATE episode SET state = 'leased', fence = 1, attempt_no = 1", /CHECK/],
  ["an episode in no state", "UPDATE episode SET state = 'lost'", /CHECK/],
  ["a change of a finished episode", "UPDATE finished SET state = 'failed'", /never reopens/],
  [
    "a finished episode planned again",
    "INSERT INTO episode (run_no, episode_no, group_no, member, sampling_seed, not_before) VALUES (1, 5, 1, 3, '1', 0)",
    /never reopens/,
  ],
  ["a change of a closed attempt", "UPDATE attempt SET answer = 'requeued'", /closed attempt never reopens/],
  ["a second step of the same number", "INSERT INTO step VALUES (2, 1, 1, 'other', 1, 'w', 1, NULL)", /UNIQUE/],
  ["a second step of the same batch", "INSERT INTO step VALUES (2, 1, 2, 'batch-1', 1, 'w', 1, NULL)", /UNIQUE/],
  [
    "a group in two steps",
    "INSERT INTO step VALUES (2, 1, 2, 'b', 1, 'w', 1, NULL); INSERT INTO batch_step VALUES (2, 0, 1, 0, NULL)",
    /UNIQUE/,
  ],
  [
    "a point that is neither a number nor marked",
    "INSERT INTO metric_point VALUES (1, 'loss', 1, NULL, NULL)",
    /CHECK/,
  ],
])("the books refuse %s", (_title, sql, message) => {
  expect(() => database.exec(sql)).toThrow(message);
});
