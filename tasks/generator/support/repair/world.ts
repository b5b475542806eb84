/**
 * A program world of the code repair families: a small real library, the faults that can be put into it, and for each
 * fault the tests that find it and the ways to mend it badly. Names that start with `Q`, and `PKG`, are replaced by words
 * drawn for each task.
 */

export const FAULT_KINDS = [
  "operator",
  "boundary",
  "off-by-one",
  "mutable-state",
  "cleanup",
  "wrong-default",
  "unicode",
  "ordering",
  "error-handling",
  "precision",
  "missing-await",
  "race",
  "swallowed-rejection",
  "wrong-this",
  "default-sort",
  "closure",
  "event-order",
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** A way to mend a fault badly: what stands in the place of the faulty text, and the tests of the fault that find it. */
export interface BadMend {
  readonly name: string;
  readonly text: string;
  /** Names of tests of this fault, as the language spells them; not empty. */
  readonly fails: readonly string[];
}

export interface Fault {
  /** Kebab-case, unique in its world. */
  readonly id: string;
  readonly kind: FaultKind;
  /** 1: what is called is at fault; 2: something it calls; 3: something that happened earlier or further below. */
  readonly distance: 1 | 2 | 3;
  /** Below the package folder. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly right: string;
  readonly broken: string;
  /** Right as well, in another way. */
  readonly other: string;
  /** What a person saw, and what they expected. */
  readonly symptom: string;
  /** The rule, one sentence. */
  readonly rule: string;
  /** The edge of the rule, one sentence. */
  readonly edge: string;
  /** Tests, in the language: one that fails on the broken program. */
  readonly visible: string;
  /** Each fails on the broken program. */
  readonly unit: string;
  readonly boundary: string;
  readonly wrong: readonly BadMend[];
}

export interface World {
  readonly name: string;
  /** What the library is, after "a": `small double-entry ledger`. */
  readonly title: string;
  /** Words for each placeholder; the first is good, all are. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** Below the package folder. */
  readonly files: Readonly<Record<string, string>>;
  /** The rules, as README.md. */
  readonly readme: string;
  /** Tests that pass with every fault of the world put in: the repository's own, and other ones that are hidden. */
  readonly own: string;
  readonly integration: string;
  readonly faults: readonly Fault[];
  /** A change that harms what worked, found by the integration tests. */
  readonly neighbour: { readonly file: string; readonly right: string; readonly broken: string };
}

/** The text with its placeholders replaced. */
export function named(text: string, names: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\b(?:PKG|Q[A-Za-z]+)\b/g, (word) => names[word] ?? word);
}
