/**
 * What a module is to be written for: its interface, rules with options that the seed draws, two implementations, and
 * the inputs that hidden tests are made of. An option is a rule of the text and a constant of the programs at once.
 */

/** A value of an option: how it reads in Python or JavaScript, and the sentence that demands it. */
export interface Choice {
  readonly value: string;
  readonly rule: string;
}

/** A rule that has several readings. The seed draws one; taking another is a wrong solution. */
export interface Option {
  /** Constant of the programs, in capitals. */
  readonly name: string;
  readonly choices: readonly [Choice, Choice, ...Choice[]];
  /** Python or JavaScript list of argument lists on which another choice gives another result. */
  readonly probes: string;
}

export interface Subject {
  readonly id: string;
  readonly language: "python" | "javascript";
  readonly title: string;
  /** Name of the one function of the module. */
  readonly entry: string;
  readonly signature: string;
  /** What it does, without the options. */
  readonly text: string;
  readonly options: readonly [Option, Option, Option, ...Option[]];
  /** Defines `entry`, reading the options' constants. */
  readonly oracle: string;
  readonly other: string;
  /** List of argument lists that give the same whatever the options are. */
  readonly plain: string;
  /** List of what these give; it is what the agent is shown. */
  readonly results: string;
  /** Defines `draw(r)`: one random argument list. `r` is Python's Random, or a function to numbers below 1. */
  readonly draw: string;
  /** A wrong solution: an edit of the oracle that holds on all of `plain`, and what it is called. */
  readonly slip: { readonly name: string; readonly from: string; readonly to: string };
  /** Argument lists on which the slip shows, and the rule that the instruction states about them. */
  readonly edge: { readonly rule: string; readonly probes: string };
  /** Python only: a slow implementation, and one large argument list from `r`, with its size told. */
  readonly speed?: { readonly baseline: string; readonly make: string; readonly told: string };
}
