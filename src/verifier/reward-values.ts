/**
 * What the reward files of a script say, read as numbers under strict rules. A file is only the script's claim, and one
 * that can be read in two ways is none: every doubt is a fault of the verifier, and never a reward of 0.
 */
import { Failure, type FailureCode } from "../core/errors.ts";

const KEYS_MAX = 64;
const KEY_CHARACTERS_MAX = 128;
const TOLERANCE = 1e-9;
const NUMBER = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** One file as it was found: null where there is none. */
export type RewardFile = { readonly text: string } | { readonly refused: string } | null;

/** All that a script can claim a reward by. */
export interface RewardFiles {
  readonly "reward.txt": RewardFile;
  readonly "reward.json": RewardFile;
}

/** What the files claim, checked. */
export interface RewardValues {
  /** By key, as written: finite, and not clamped. */
  readonly values: Readonly<Record<string, number>>;
  /** The reward, clamped to [0, 1]. */
  readonly total: number;
}

/** How a task wants them read. */
export interface RewardRule {
  /** Names the script in messages. */
  readonly script: string;
  /** Whether several keys without one named `reward` stand for their mean. */
  readonly isMean: boolean;
}

/**
 * Throws `reward_absent`, `reward_unreadable`, `reward_invalid`, `reward_ambiguous` or `reward_disagreement`.
 * Pure.
 */
export function rewardValues(files: RewardFiles, rule: RewardRule): RewardValues {
  const text = contentOf(files, "reward.txt", rule);
  const json = contentOf(files, "reward.json", rule);
  const single = text === null ? null : numberOf(text, rule);
  const values = json === null ? null : vectorOf(json, rule);
  if (values === null) {
    if (single === null) {
      throw fault(
        "reward_absent",
        rule,
        "left no reward",
        "write one number to /logs/verifier/reward.txt in every case",
      );
    }
    return { values: { reward: single }, total: clamped(single) };
  }
  const reward = rewardOf(values, rule);
  if (single !== null && Math.abs(single - reward) > TOLERANCE) {
    const what = `wrote ${single} to reward.txt and ${reward} to reward.json`;
    throw fault("reward_disagreement", rule, what, "write one of the two files, or the same reward to both");
  }
  return { values, total: clamped(reward) };
}

function contentOf(files: RewardFiles, name: keyof RewardFiles, rule: RewardRule): string | null {
  const file = files[name];
  if (file === null) return null;
  if ("text" in file) return file.text;
  const what = `left a ${name} that ${file.refused}`;
  throw fault("reward_unreadable", rule, what, "write a plain file of at most 64 KiB before the script ends");
}

function numberOf(text: string, rule: RewardRule): number {
  const word = text.trim();
  const value = NUMBER.test(word) ? Number(word) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw fault("reward_invalid", rule, `wrote ${quoted(word)} to reward.txt`, "write one finite number such as 0.5");
}

function vectorOf(text: string, rule: RewardRule): Record<string, number> {
  const wrong = (what: string): Failure =>
    fault("reward_invalid", rule, `wrote ${what} to reward.json`, 'write an object of finite numbers: {"reward": 0.5}');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrong(`${quoted(text)}, which is no JSON,`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw wrong("what is no object");
  const entries: readonly (readonly [string, unknown])[] = Object.entries(parsed);
  if (entries.length === 0) throw wrong("an object without keys");
  if (entries.length > KEYS_MAX) throw wrong(`${entries.length} keys, more than ${KEYS_MAX},`);
  return Object.fromEntries(
    entries.map(([key, value]): [string, number] => {
      if (key.length > KEY_CHARACTERS_MAX) throw wrong(`a key of ${key.length} characters`);
      if (typeof value === "number" && Number.isFinite(value)) return [key, value];
      const isNested = typeof value === "object" && value !== null;
      const what =
        typeof value === "number"
          ? "a number that is not finite"
          : isNested
            ? "a list or object"
            : quoted(String(value));
      throw wrong(`${what} for ${quoted(key)}`);
    }),
  );
}

function rewardOf(values: Readonly<Record<string, number>>, rule: RewardRule): number {
  const numbers = Object.values(values);
  const own = Object.hasOwn(values, "reward") ? values["reward"] : numbers.length === 1 ? numbers[0] : undefined;
  if (own !== undefined) return own;
  if (rule.isMean) return numbers.reduce((sum, value) => sum + value / numbers.length, 0);
  const what = `wrote ${numbers.length} keys to reward.json, none of them "reward"`;
  throw fault(
    "reward_ambiguous",
    rule,
    what,
    'add the key "reward", or declare reward_mean = true for its tier in task.toml',
  );
}

function clamped(value: number): number {
  return Math.min(1, Math.max(0, value));
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}

function fault(code: FailureCode, { script }: RewardRule, what: string, remedy: string): Failure {
  return new Failure(code, `${script} ${what}; ${remedy}.`);
}
