/**
 * A judge is a verifier that asks a model about what code cannot decide. It sees artifacts and test output as quoted
 * data, never reasoning; each yes must quote a span that the platform finds. Its share of the reward is at most 0.3.
 */
export interface JudgeItem {
  /** Kebab-case, unique in the rubric. */
  readonly name: string;
  /** A question that yes or no answers. */
  readonly question: string;
  /** > 0. */
  readonly weight: number;
}

/** What a task asks a judge, and how much of its reward that may decide. */
export interface JudgeSpec {
  readonly items: readonly JudgeItem[];
  /** Of the reward, in (0, 0.3]. */
  readonly share: number;
  /** Odd, at least 1; default 3. */
  readonly votes: number;
  /** Name of the model at the endpoint; null for the one that the run names. */
  readonly model: string | null;
}

/** One request to a judge. There is no field for what the policy thought. */
export interface JudgeRequest {
  readonly prompt: string;
  /** JSON Schema that the answer must satisfy. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly model: string | null;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** What the endpoint answered, and who answered. */
export interface JudgeReply {
  /** The answer's text: JSON that should satisfy the schema, untrusted. */
  readonly text: string;
  readonly model: string;
  readonly endpoint: string;
  readonly promptTokens: number | null;
  readonly sampledTokens: number | null;
}

/** Throws `endpoint_unavailable` and its like; never an empty answer. */
export interface JudgeEndpoint {
  ask(request: JudgeRequest): Promise<JudgeReply>;
}

/** One call as it is stored: enough to grade again without asking. `requestHash` is SHA-256 of prompt, schema, model and seed. */
export interface JudgeRecord {
  readonly requestHash: string;
  readonly prompt: string;
  readonly reply: JudgeReply;
}

/** What the votes on one item came to. */
export interface JudgeItemResult {
  readonly name: string;
  readonly weight: number;
  /** Null when the votes disagreed too much; its weight is then shared among the others. */
  readonly score: 0 | 1 | null;
  readonly quotes: readonly string[];
}

/** What the judge said of one state, with every call it took. */
export interface JudgeResult {
  /** In [0, 1]. */
  readonly score: number;
  readonly share: number;
  readonly items: readonly JudgeItemResult[];
  readonly records: readonly JudgeRecord[];
}
