/**
 * What a drawn job is: names, limits and the rule of its kind. A kind says what a good message is and what it does, in
 * prose, as Python of a right worker, and as Python that decides anew in the hidden tests.
 */
import type { Random } from "../../../src/core/random.ts";

/** Names and limits that every kind shares. */
export interface Place {
  readonly program: string;
  readonly stream: string;
  readonly subject: string;
  readonly outStream: string;
  readonly outSubject: string;
  readonly deadStream: string;
  readonly deadSubject: string;
  readonly database: string;
  readonly handled: string;
  /** Name of the file of what is known, without its ending. */
  readonly directory: string;
  /** The field that identifies a message. */
  readonly id: string;
  /** The delivery at which a message of an unknown key becomes a dead letter. */
  readonly deliveries: number;
  /** Reasons of dead letters. */
  readonly malformed: string;
  readonly unknown: string;
}

/** One table of the effect: its columns in the order that rows are compared in, and the SQL of their types. */
export interface Table {
  readonly name: string;
  readonly columns: readonly (readonly [name: string, type: string])[];
  /** The rest of the definition, such as a primary key. */
  readonly key: string;
}

/** What a message of the kind is and does. Python stands at the top level of a program. */
export interface Kind {
  readonly name: string;
  readonly description: string;
  /** The field whose value must be a key of the directory. */
  readonly key: string;
  /** Fields of a message beside its id, the key among them. */
  readonly fields: readonly { readonly name: string; readonly type: "str" | "int"; readonly prose: string }[];
  /** What the directory holds for a key, in prose. */
  readonly known: string;
  /** Rules of the effect, in prose. */
  readonly rules: readonly string[];
  /** Last words of subjects, the most urgent first; each has a consumer of its own. One for most kinds. */
  readonly lanes: readonly string[];
  /** Whether messages must take effect in the order of the stream. */
  readonly isOrdered: boolean;
  /** Whether an effect publishes messages. */
  readonly isPublishing: boolean;
  /** Whether an effect done twice can be seen within two minutes, in which the broker drops what is published twice. */
  readonly showsRepeats: boolean;
  /** An entry of the given directory, and fields of the index-th given message beside its id and key. */
  readonly given: {
    value(random: Random): unknown;
    fields(random: Random, index: number): Readonly<Record<string, unknown>>;
  };
  readonly tables: readonly Table[];
  /** `def effect(db, broker, body, value)`: inside a transaction; returns None, or the reason of a dead letter. */
  readonly worker: string;
  /** `class Rule`: `apply(body, value)` -> None or reason, `tables()` -> {name: rows}, `out` -> [[subject, body]]. */
  readonly model: string;
  /** `def some_value(random)`: a directory's entry; `def some_fields(random, index, key, value)`: the other fields. */
  readonly inputs: string;
  /** `def edges(random)`: a directory, and bodies without ids, at the edges of the rule. */
  readonly edges: string;
  /** Changes to `worker` that make it fail `test_edges`, and may fail others. */
  readonly flaws: Readonly<Record<string, { readonly from: string; readonly to: string }>>;
}

/** A whole drawn job. */
export interface Job extends Place {
  readonly kind: Kind;
  /** A consumer for each lane of the kind. */
  readonly consumers: readonly { readonly name: string; readonly lane: string }[];
}

export type DrawKind = (random: Random, place: Place) => Kind;
