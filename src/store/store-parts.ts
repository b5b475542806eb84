/** What the calls of one opened store share. */
import type { DatabaseSync } from "node:sqlite";
import type { EpisodeStatements } from "./episode-statements.ts";
import type { FindingStatements } from "./finding-statements.ts";
import type { Write } from "./group-commit.ts";
import type { RecordBytes } from "./record-bytes.ts";
import type { RegradeStatements } from "./regrade-statements.ts";
import type { RunStatements } from "./run-statements.ts";
import type { MetricStatements, StepStatements } from "./step-statements.ts";
import type { TrajectoryStatements } from "./trajectory-statements.ts";

/** The one way rows and bytes are written. */
export interface StoreWriter {
  write<T>(write: Write<T>): Promise<T>;
  /** Resolves when all that was asked for is written. */
  drain(): Promise<void>;
}

export interface StoreParts {
  readonly folder: string;
  /** Names this opening of the store in the rows of what it holds. */
  readonly token: string;
  /** Milliseconds for rows; never goes back. */
  readonly clock: () => number;
  readonly database: DatabaseSync;
  readonly bytes: RecordBytes;
  readonly runs: RunStatements;
  readonly episodes: EpisodeStatements;
  readonly trajectories: TrajectoryStatements;
  readonly findings: FindingStatements;
  readonly regrades: RegradeStatements;
  readonly steps: StepStatements;
  readonly metrics: MetricStatements;
  /** Null in a reader. */
  readonly writer: StoreWriter | null;
  /** Runs statements that only read; their errors become failures. */
  read<T>(work: () => T): Promise<T>;
  /** Throws `store_locked` in a reader. */
  write<T>(write: Write<T>): Promise<T>;
}
