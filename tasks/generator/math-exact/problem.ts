/**
 * A shape of exact problem: how it is told, how an instance is drawn, two programs that solve it by different ways, and
 * edits of the first that make it wrong.
 */
import type { Random } from "../../../src/core/random.ts";

/** A text edit of the oracle that leaves a program which is wrong in a stated way. */
export interface Slip {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** Boundary tests that the slip must fail; `answer` where the stated instance comes out wrong too. */
  readonly fails: readonly ("answer" | "twins" | "degenerate")[];
}

export interface Problem {
  readonly id: string;
  readonly title: string;
  /** What is asked, in terms of the standard input that is described by `format`. */
  readonly statement: string;
  readonly format: string;
  /** The text form of an answer. */
  readonly answerForm: string;
  /** What degenerate instances may look like and what they give. */
  readonly degenerate: string;
  /** The standard input of the stated instance; `size` from 1 to 5. */
  instance(random: Random, size: number): string;
  /** Python text that defines `solve(text)`. */
  readonly oracle: string;
  /** The same by another way; also what the hidden tests compare with. */
  readonly other: string;
  /** Python text that defines `draw(r)`, an instance of another size, and `DEGENERATE`, a list of instances. */
  readonly twins: string;
  readonly slips: readonly Slip[];
}

/** `count` draws, joined by spaces. */
export function row(count: number, draw: (index: number) => number | bigint): string {
  return Array.from({ length: count }, (_, index) => String(draw(index))).join(" ");
}

/** A whole number of `digits` decimal digits. */
export function digits(random: Random, count: number): bigint {
  const text = Array.from({ length: count }, (_, index) => random.integer(index === 0 ? 1 : 0, 9)).join("");
  return BigInt(text);
}
