/**
 * Verdicts by identity: the recent ones in memory, all of them in a table, so that a resumed run grades nothing twice.
 * It is a saving and no truth: a verdict that could not be written is graded again some day.
 */
import type { DatabaseSync } from "node:sqlite";
import type { Verdict, VerdictMemory } from "../core/verifier.ts";
import { one } from "./database.ts";
import { recent } from "./recent.ts";
import type { StoreParts } from "./store-parts.ts";

const VERDICTS_IN_MEMORY_MAX = 10_000;
const VERDICTS_IN_TABLE_MAX = 200_000;

/** A reader remembers for itself alone. */
export function verdictMemory({ database, clock, writer }: StoreParts): VerdictMemory {
  const known = recent<string, Verdict | null>(VERDICTS_IN_MEMORY_MAX);
  const select = database.prepare("SELECT verdict FROM verdict WHERE identity = ?");
  return {
    find(identity) {
      const verdict = known.get(identity);
      if (verdict !== undefined) return verdict;
      const row = one<{ verdict: string }>(select, identity);
      if (row === null) return null;
      const stored = JSON.parse(row.verdict) as Verdict;
      known.set(identity, stored);
      return stored;
    },
    remember(verdict) {
      if ((known.get(verdict.identity) ?? null) !== null) return;
      known.set(verdict.identity, verdict);
      if (writer === null) return;
      const insert = (): void => {
        database
          .prepare("INSERT INTO verdict (identity, verdict, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
          .run(verdict.identity, JSON.stringify(verdict), clock());
      };
      void writer.write({ apply: insert }).catch(() => undefined);
    },
    forget(identity) {
      // Null until it is gone from the table too.
      known.set(identity, null);
      if (writer === null) return;
      const remove = (): void => void database.prepare("DELETE FROM verdict WHERE identity = ?").run(identity);
      void writer.write({ apply: remove }).catch(() => undefined);
    },
  };
}

/** Forgets the oldest verdicts beyond the limit. */
export function trimVerdicts(database: DatabaseSync): void {
  database
    .prepare(
      "DELETE FROM verdict WHERE identity IN (SELECT identity FROM verdict ORDER BY created_at DESC LIMIT -1 OFFSET ?)",
    )
    .run(VERDICTS_IN_TABLE_MAX);
}
