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

/**
 * Findings, what persons decided on them, and verdicts given later. All three are only ever added to. Rewards are held
 * to what their cause may earn.
 */
const SECOND = `
CREATE TRIGGER trajectory_cause BEFORE INSERT ON trajectory
WHEN NOT coalesce(CASE NEW.outcome
  WHEN 'graded' THEN CASE NEW.cause
    WHEN 'completed' THEN NEW.stop_reason = 'submitted' AND NEW.reward BETWEEN 0 AND 1
    WHEN 'policy_limit' THEN NEW.reward BETWEEN 0 AND 1
      AND NEW.stop_reason IN ('turn_limit', 'token_limit', 'context_limit', 'time_limit', 'part_failed')
    WHEN 'policy_fault' THEN NEW.reward = 0
      AND NEW.stop_reason IN ('repetition_limit', 'invalid_calls', 'sandbox_killed', 'memory_limit', 'disk_limit')
    WHEN 'cheating' THEN NEW.reward BETWEEN -0.5 AND 0
  END
  WHEN 'failed' THEN NEW.cause IN ('infra_before', 'infra_during', 'verifier_fault')
  ELSE NEW.cause IN ('stale', 'user', 'run_ended')
END, 0)
BEGIN SELECT RAISE(ABORT, 'this outcome has no such cause, stop reason or reward'); END;

CREATE TABLE finding (
  finding_no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  episode_no INTEGER NOT NULL,
  content_key TEXT NOT NULL,
  detector TEXT NOT NULL,
  detector_version INTEGER NOT NULL CHECK (detector_version >= 1),
  tier TEXT NOT NULL CHECK (tier IN ('A', 'B', 'C', 'D')),
  pattern INTEGER NOT NULL CHECK (pattern BETWEEN 1 AND 64),
  effect TEXT NOT NULL CHECK (effect IN ('attempted', 'effective')),
  is_punished INTEGER NOT NULL CHECK (is_punished IN (0, 1)),
  summary TEXT NOT NULL,
  turn INTEGER CHECK (turn >= 1),
  file TEXT,
  line INTEGER CHECK (line >= 1),
  evidence TEXT NOT NULL,
  found_at INTEGER NOT NULL,
  UNIQUE (run_no, episode_no, content_key),
  FOREIGN KEY (run_no, episode_no) REFERENCES trajectory,
  CHECK (is_punished = 0 OR tier = 'A')
) STRICT;

CREATE TABLE review (
  review_no INTEGER PRIMARY KEY,
  finding_no INTEGER NOT NULL REFERENCES finding,
  decision TEXT NOT NULL CHECK (decision IN ('confirmed', 'legitimate', 'task-defect', 'detector-defect')),
  author TEXT NOT NULL CHECK (trim(author) <> ''),
  reason TEXT NOT NULL CHECK (trim(reason) <> ''),
  decided_at INTEGER NOT NULL
) STRICT;
CREATE INDEX review_finding ON review (finding_no, review_no);

CREATE TABLE verdict_history (
  verdict_no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  episode_no INTEGER NOT NULL,
  regrade_id TEXT NOT NULL,
  verifier_hash TEXT NOT NULL,
  reward REAL CHECK (reward BETWEEN -0.5 AND 1),
  verdict TEXT,
  failure TEXT,
  message TEXT,
  graded_at INTEGER NOT NULL,
  UNIQUE (run_no, regrade_id, episode_no),
  FOREIGN KEY (run_no, episode_no) REFERENCES trajectory,
  CHECK ((reward IS NULL) = (failure IS NOT NULL)),
  CHECK ((verdict IS NULL) = (failure IS NOT NULL)),
  CHECK ((failure IS NULL) = (message IS NULL))
) STRICT;
CREATE INDEX verdict_episode ON verdict_history (run_no, episode_no);

CREATE TABLE adoption (
  adoption_no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL REFERENCES run,
  regrade_id TEXT NOT NULL,
  adopted_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER finding_kept BEFORE UPDATE ON finding BEGIN SELECT RAISE(ABORT, 'findings are only added'); END;
CREATE TRIGGER review_kept BEFORE UPDATE ON review BEGIN SELECT RAISE(ABORT, 'decisions are only added'); END;
CREATE TRIGGER review_final BEFORE DELETE ON review BEGIN SELECT RAISE(ABORT, 'decisions are only added'); END;
CREATE TRIGGER verdict_kept BEFORE UPDATE ON verdict_history BEGIN SELECT RAISE(ABORT, 'verdicts are only added'); END;
`;

/** Migration `n` leads from schema version `n` to `n + 1`; each runs once, in one transaction. */
export const MIGRATIONS: readonly string[] = [FIRST, SECOND];

export const SCHEMA_VERSION = MIGRATIONS.length;
