/**
 * The tables, in the words of `core/store.ts` as snake_case. What must never be in the books is refused here too, by
 * checks and triggers: a reward without a graded outcome, a fence that falls, a closed episode that reopens, a group
 * in two steps.
 */

/** Ids are numbers inside and strings outside. Only ready and leased episodes are in `episode`; the rest is in `finished`. */
const FIRST = `
CREATE TABLE owner (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  token TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_start TEXT NOT NULL,
  since INTEGER NOT NULL
) STRICT;

CREATE TABLE run (
  run_no INTEGER PRIMARY KEY,
  project_id TEXT NOT NULL DEFAULT 'default',
  run_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('train', 'evaluate')),
  state TEXT NOT NULL CHECK (state IN ('active', 'halted', 'stopped', 'done', 'cancelled')),
  reason TEXT,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  recipe_hash TEXT NOT NULL,
  config TEXT NOT NULL,
  step INTEGER NOT NULL DEFAULT 0 CHECK (step >= 0),
  policy_version INTEGER NOT NULL DEFAULT 0 CHECK (policy_version >= 0),
  summary TEXT,
  owner_token TEXT
) STRICT;

CREATE TABLE episode_group (
  run_no INTEGER NOT NULL REFERENCES run,
  group_no INTEGER NOT NULL CHECK (group_no >= 0),
  phase TEXT NOT NULL CHECK (phase IN ('train', 'eval')),
  step INTEGER NOT NULL CHECK (step >= 0),
  task_key TEXT NOT NULL,
  task_hash TEXT NOT NULL,
  task_ref TEXT NOT NULL,
  split TEXT NOT NULL,
  grading_seed TEXT NOT NULL,
  planned_at INTEGER NOT NULL,
  PRIMARY KEY (run_no, group_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE episode (
  run_no INTEGER NOT NULL,
  episode_no INTEGER NOT NULL CHECK (episode_no >= 0),
  group_no INTEGER NOT NULL,
  member INTEGER NOT NULL CHECK (member >= 0),
  sampling_seed TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'leased')),
  attempt_no INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0 CHECK (fence >= attempt_no),
  worker_id TEXT,
  owner_token TEXT,
  lease_until INTEGER,
  not_before INTEGER NOT NULL,
  PRIMARY KEY (run_no, episode_no),
  UNIQUE (run_no, group_no, member),
  FOREIGN KEY (run_no, group_no) REFERENCES episode_group,
  CHECK ((state = 'leased') = (worker_id IS NOT NULL)),
  CHECK ((state = 'leased') = (owner_token IS NOT NULL)),
  CHECK ((state = 'leased') = (lease_until IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX episode_ready ON episode (run_no, episode_no) WHERE state = 'ready';
CREATE INDEX episode_leased ON episode (run_no, lease_until) WHERE state = 'leased';

CREATE TRIGGER episode_fence BEFORE UPDATE ON episode
WHEN NEW.fence < OLD.fence OR (NEW.state = 'leased' AND OLD.state = 'ready' AND NEW.fence = OLD.fence)
BEGIN SELECT RAISE(ABORT, 'a fence only grows'); END;

CREATE TABLE finished (
  run_no INTEGER NOT NULL,
  episode_no INTEGER NOT NULL,
  group_no INTEGER NOT NULL,
  member INTEGER NOT NULL,
  sampling_seed TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('done', 'failed', 'cancelled')),
  attempt_no INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  failure TEXT,
  finished_at INTEGER NOT NULL,
  PRIMARY KEY (run_no, episode_no),
  UNIQUE (run_no, group_no, member),
  FOREIGN KEY (run_no, group_no) REFERENCES episode_group,
  CHECK (state <> 'done' OR failure IS NULL)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER finished_closed BEFORE UPDATE ON finished
BEGIN SELECT RAISE(ABORT, 'a finished episode never reopens'); END;
CREATE TRIGGER episode_reopened BEFORE INSERT ON episode
WHEN EXISTS (SELECT 1 FROM finished WHERE run_no = NEW.run_no AND episode_no = NEW.episode_no)
BEGIN SELECT RAISE(ABORT, 'a finished episode never reopens'); END;

CREATE TABLE attempt (
  run_no INTEGER NOT NULL REFERENCES run,
  episode_no INTEGER NOT NULL,
  attempt_no INTEGER NOT NULL CHECK (attempt_no >= 1),
  fence INTEGER NOT NULL,
  worker_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  answer TEXT CHECK (answer IN ('accepted', 'requeued', 'closed', 'lost', 'cancelled')),
  failure TEXT,
  message TEXT,
  PRIMARY KEY (run_no, episode_no, attempt_no),
  UNIQUE (run_no, episode_no, fence),
  CHECK ((ended_at IS NULL) = (answer IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TRIGGER attempt_closed BEFORE UPDATE ON attempt WHEN OLD.answer IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a closed attempt never reopens'); END;

CREATE TABLE object (
  object_key TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL CHECK (bytes > 0),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE trajectory (
  run_no INTEGER NOT NULL,
  episode_no INTEGER NOT NULL,
  object_key TEXT NOT NULL REFERENCES object,
  document_hash TEXT NOT NULL,
  segment_hash TEXT,
  outcome TEXT NOT NULL CHECK (outcome IN ('graded', 'failed', 'cancelled')),
  cause TEXT NOT NULL,
  stop_reason TEXT,
  failure TEXT,
  reward REAL,
  is_verdict_reused INTEGER NOT NULL CHECK (is_verdict_reused IN (0, 1)),
  policy_version_first INTEGER NOT NULL,
  policy_version_last INTEGER NOT NULL CHECK (policy_version_last >= policy_version_first),
  turns INTEGER NOT NULL,
  sampled_tokens INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  PRIMARY KEY (run_no, episode_no),
  FOREIGN KEY (run_no, episode_no) REFERENCES finished,
  CHECK ((outcome = 'graded') = (reward IS NOT NULL)),
  CHECK (reward IS NULL OR abs(reward) < 1e300),
  CHECK ((outcome = 'graded') = (stop_reason IS NOT NULL)),
  CHECK ((outcome = 'failed') = (failure IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX trajectory_object ON trajectory (object_key);

CREATE TABLE step (
  step_no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL REFERENCES run,
  step INTEGER NOT NULL CHECK (step >= 0),
  batch_id TEXT NOT NULL,
  policy_version INTEGER NOT NULL,
  weights_sha256 TEXT NOT NULL,
  taken_at INTEGER NOT NULL,
  rolled_back_at INTEGER
) STRICT;
CREATE UNIQUE INDEX step_once ON step (run_no, step) WHERE rolled_back_at IS NULL;
CREATE UNIQUE INDEX batch_once ON step (run_no, batch_id) WHERE rolled_back_at IS NULL;

CREATE TABLE batch_step (
  step_no INTEGER NOT NULL REFERENCES step,
  position INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  group_no INTEGER NOT NULL,
  rolled_back_at INTEGER,
  PRIMARY KEY (step_no, position),
  FOREIGN KEY (run_no, group_no) REFERENCES episode_group
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX group_once ON batch_step (run_no, group_no) WHERE rolled_back_at IS NULL;

CREATE TABLE metric_point (
  run_no INTEGER NOT NULL REFERENCES run,
  id TEXT NOT NULL,
  step INTEGER NOT NULL,
  value REAL,
  non_finite TEXT CHECK (non_finite IN ('NaN', 'Infinity', '-Infinity')),
  PRIMARY KEY (run_no, id, step),
  CHECK ((value IS NULL) = (non_finite IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
  identity TEXT PRIMARY KEY,
  verdict TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** Migration `n` leads from schema version `n` to `n + 1`; each runs once, in one transaction. */
export const MIGRATIONS: readonly string[] = [FIRST];

export const SCHEMA_VERSION = MIGRATIONS.length;
