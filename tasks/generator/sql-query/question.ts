/** A question that is asked of the four tables, and all that decides its answer. */

/** A query that is right but for one thing. */
export interface WrongQuery {
  readonly name: string;
  readonly sql: string;
}

export interface Question {
  readonly id: string;
  /** 1 to 5. */
  readonly level: number;
  /** A heading, without an end. */
  readonly title: string;
  /** What the rows are, in the words of the structure. */
  readonly text: string;
  readonly columns: readonly string[];
  readonly oracle: string;
  /** Right as well, in another way. */
  readonly other: string;
  /** Body of `def answer(db)` in Python; `db` has `parents`, `items`, `events`, `lines` as lists of objects. */
  readonly reference: string;
  /** Each is found by a test of the boundary tier. */
  readonly wrong: readonly WrongQuery[];
}
