/**
 * The fields of `task.toml` and `environment/image.toml`: the fields of a Harbor task, and the `[sandlot]` table.
 * Each field's message says what may stand there. Unknown keys are judged in `task-toml.ts`, not here.
 */
import { z } from "zod";
import { JUDGE_SCHEMA } from "./judge-fields.ts";
import { MILESTONE_SCHEMA, MILESTONES_CAP_SCHEMA, MILESTONES_CREDIT_SCHEMA } from "./milestone-fields.ts";

const positive = (most: number, example: number, unit: string) => {
  const error = `must be a number of ${unit} above 0 and at most ${most}; write a number such as ${example}`;
  return z.number({ error }).gt(0, { error }).max(most, { error });
};
const whole = (least: number, most: number, example: number) => {
  const error = `must be a whole number from ${least} to ${most}; write a number such as ${example}`;
  return z.number({ error }).int({ error }).min(least, { error }).max(most, { error });
};
const share = () => {
  const error = "must be a number from 0 to 1; write a number such as 1.0";
  return z.number({ error }).min(0, { error }).max(1, { error });
};
const flag = () => z.boolean({ error: "must be true or false; write one of them" });
const text = (example: string) => z.string({ error: `must be a text; write one such as "${example}"` });
const texts = (example: string) => {
  const error = `must be a list of texts; write one such as ["${example}"]`;
  return z.array(z.string({ error }), { error });
};
const choice = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `must be one of ${values.join(", ")}; write one of them` });
const variables = () => {
  const error = 'must be a table of texts; write one such as { LANG = "C" }';
  return z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error }), z.string({ error }), { error });
};
const table = <T extends z.ZodRawShape>(shape: T) =>
  z.object(shape, { error: "must be a table; write it as a table with named fields" });
const identifier = (example: string) =>
  z
    .string({ error: `must be a kebab-case name; write one such as "${example}"` })
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, { error: `must be a kebab-case name; write one such as "${example}"` });

const SECONDS_MAX = 86_400;
const NETWORK = ["no-network", "public", "allowlist"] as const;
const networkMode = () => choice(NETWORK);

const mcpServer = table({
  name: text("notes"),
  transport: choice(["stdio", "sse", "streamable-http"]).optional(),
  url: text("http://127.0.0.1:8000/mcp").optional(),
  command: text("/usr/bin/notes-mcp").optional(),
  args: texts("--read-only").optional(),
});

const environmentShape = {
  build_timeout_sec: positive(SECONDS_MAX, 600, "seconds").optional(),
  docker_image: text("debian:12").optional(),
  os: choice(["linux", "windows"]).optional(),
  cpus: positive(256, 1, "processors").optional(),
  memory_mb: whole(16, 1_048_576, 512).optional(),
  memory: text("512M").optional(),
  storage_mb: whole(1, 1_048_576, 1024).optional(),
  storage: text("1G").optional(),
  gpus: whole(0, 1024, 0).optional(),
  gpu_types: texts("any").optional(),
  tpu: z.unknown().optional(),
  workdir: text("/app").optional(),
  env: variables().optional(),
  mcp_servers: z
    .array(mcpServer, { error: "must be a list of tables; write [[environment.mcp_servers]] with name and command" })
    .optional(),
  skills_dir: text("/skills").optional(),
  healthcheck: table({
    command: text("curl -sf http://127.0.0.1:8080/health"),
    interval_sec: positive(600, 5, "seconds").optional(),
    timeout_sec: positive(600, 5, "seconds").optional(),
    start_period_sec: z
      .number({ error: "must be a number of seconds; write a number such as 10" })
      .min(0, { error: "must be at least 0; write a number of seconds such as 10" })
      .max(600, { error: "must be at most 600; write a number of seconds such as 10" })
      .optional(),
    start_interval_sec: positive(600, 5, "seconds").optional(),
    retries: whole(1, 100, 3).optional(),
  }).optional(),
  network_mode: networkMode().optional(),
  allow_internet: flag().optional(),
  allowed_hosts: texts("example.org").optional(),
};

const artifactError = 'must be a path, or a table with a source; write one such as "/app/report.csv"';
const artifact = z.union([z.string(), z.object({ source: z.string(), destination: z.string().optional() })], {
  error: artifactError,
});

const tier = table({
  name: choice(["build", "unit", "integration", "boundary", "performance"]),
  weight: z
    .number({ error: "must be a number of at least 0; write a number such as 1.0" })
    .min(0, { error: "must be a number of at least 0; write a number such as 1.0" })
    .max(1_000, { error: "must be at most 1000; write a number such as 1.0" })
    .optional(),
  gate: flag().optional(),
  veto: flag().optional(),
  threshold: share().optional(),
  requires: texts("unit").optional(),
  visibility: choice(["hidden", "visible"]).optional(),
  runner: text("unittest").optional(),
  reward_mean: flag().optional(),
  path: text("tests/unit").optional(),
  repeats: whole(1, 100, 1).optional(),
  baseline: z.unknown().optional(),
  target: z.unknown().optional(),
  noise: z
    .number({ error: "must be a number from 0 to 0.5; write a number such as 0.1" })
    .min(0, { error: "must be a number from 0 to 0.5; write a number such as 0.1" })
    .max(0.5, { error: "must be a number from 0 to 0.5; write a number such as 0.1" })
    .optional(),
});

const contractFile = z.union(
  [
    z.string(),
    z.object({
      path: z.string(),
      required: z.boolean().optional(),
      kind: z.enum(["file", "tree", "json", "csv", "sqlite", "dump"]).optional(),
      bytes_max: z.int().min(1).optional(),
      entries_max: z.int().min(1).optional(),
      schema: z.unknown().optional(),
    }),
  ],
  { error: 'must be a path, or a table with path and required; write { path = "/app/query.sql", required = true }' },
);

const service = table({
  name: identifier("web"),
  argv: texts("/usr/bin/python3").min(1, { error: 'must name a program; write ["/usr/bin/python3", "service.py"]' }),
  cwd: text("/app").optional(),
  env: variables().optional(),
  port: whole(1, 65_535, 8080),
  ready_sec: positive(600, 10, "seconds").optional(),
});

const requirement = table({
  id: identifier("empty-input"),
  text: text("The empty text gives an empty dictionary."),
  kind: choice(["functional", "boundary", "performance"]).optional(),
  tests: texts("unit/test_words.py::TestCount.test_empty").min(1, {
    error: 'must name a test; write its id, such as "unit/test_words.py::TestCount.test_empty"',
  }),
});

const waiver = table({
  check: identifier("headroom"),
  reason: z
    .string({
      error: 'must be a sentence; write why the fault stands, such as "The judge of this rubric is a person."',
    })
    .min(20, { error: "must be a sentence of at least 20 characters; write why the fault stands" }),
});

const SANDLOT_SCHEMA = table({
  format: z.literal(1, { error: "must be 1, the only version there is; write 1" }).optional(),
  family: identifier("code-repair-python").optional(),
  risk: z
    .array(choice(["in-process-tests", "verifier-network", "root-agent"]), {
      error: 'must be a list; write ["root-agent"]',
    })
    .optional(),
  deadline_shown: flag().optional(),
  limits: table({
    turns: whole(1, 10_000, 50).optional(),
    tokens: whole(1, 100_000_000, 128_000).optional(),
    output_bytes_per_turn: whole(256, 16 * 2 ** 20, 65_536).optional(),
    episode_sec: positive(SECONDS_MAX * 2, 1800, "seconds").optional(),
    command_sec: positive(SECONDS_MAX, 120, "seconds").optional(),
    idle_sec: positive(SECONDS_MAX, 120, "seconds").optional(),
  }).optional(),
  resources: table({
    processes: whole(8, 65_536, 512).optional(),
    open_files: whole(64, 1_048_576, 4096).optional(),
    inodes: whole(64, 10_000_000, 200_000).optional(),
    peak_rss_expected_mb: whole(1, 1_048_576, 128).optional(),
  }).optional(),
  network: z.unknown().optional(),
  services: z
    .array(service, { error: "must be a list of tables; write [[sandlot.services]] with name, argv and port" })
    .optional(),
  protected: texts("/app/tests").optional(),
  tools: z.array(z.unknown(), { error: "must be a list of tables; leave it out" }).optional(),
  contract: table({
    state: choice(["declared", "workdir", "layer"]).optional(),
    files: z.array(contractFile, { error: "must be a list of paths or tables; write a list" }).optional(),
    bytes_max: whole(1, 1_073_741_824, 67_108_864).optional(),
    entries_max: whole(1, 1_000_000, 10_000).optional(),
  }).optional(),
  tiers: z.array(tier, { error: 'must be a list of tables; write [[sandlot.tiers]] with name = "unit"' }).optional(),
  tests: table({ manifest: text("tests/manifest.json").optional() }).optional(),
  milestones: MILESTONE_SCHEMA.optional(),
  milestones_cap: MILESTONES_CAP_SCHEMA.optional(),
  milestones_credit: MILESTONES_CREDIT_SCHEMA.optional(),
  generator: table({
    module: text("first-light"),
    version: whole(1, 1_000_000, 1),
    seed: z.union([z.number().int(), z.bigint(), z.string().regex(/^\d+$/)], {
      error: 'must be a whole number; write one such as "42"',
    }),
    dials: z.record(z.string(), z.number({ error: "must be a number; write one such as 3" })).optional(),
  }).optional(),
  grading_seed: z
    .union([z.literal("fresh"), z.number().int().min(0), z.bigint()], {
      error: 'must be "fresh" or a whole number of at least 0; write "fresh"',
    })
    .optional(),
  difficulty: table({
    level: whole(1, 5, 3).optional(),
    dials: z.record(z.string(), z.number({ error: "must be a number; write one such as 3" })).optional(),
  }).optional(),
  requirements: z
    .array(requirement, { error: "must be a list of tables; write [[sandlot.requirements]] with id, text and tests" })
    .optional(),
  waivers: z
    .array(waiver, { error: "must be a list of tables; write [[sandlot.waivers]] with check and reason" })
    .optional(),
  threshold: share().optional(),
  judge: JUDGE_SCHEMA.optional(),
});

const authors = z.array(table({ name: text("A Name").optional(), email: text("name@example.org").optional() }), {
  error: "must be a list of tables with name and email; write [[task.authors]]",
});

export const TASK_SCHEMA = table({
  schema_version: text("1.4").optional(),
  version: text("1.0").optional(),
  source: z.unknown().optional(),
  task: table({
    name: text("sandlot/my-task").optional(),
    description: text("What the task is about.").optional(),
    keywords: texts("python").optional(),
    authors: authors.optional(),
    version: z.unknown().optional(),
  }).optional(),
  metadata: z.unknown().optional(),
  agent: table({
    timeout_sec: positive(SECONDS_MAX, 900, "seconds").optional(),
    user: text("agent").optional(),
    network_mode: networkMode().optional(),
    allowed_hosts: texts("example.org").optional(),
  }).optional(),
  verifier: table({
    timeout_sec: positive(SECONDS_MAX, 600, "seconds").optional(),
    env: variables().optional(),
    user: text("verifier").optional(),
    network_mode: networkMode().optional(),
    allowed_hosts: texts("example.org").optional(),
    environment_mode: choice(["separate", "shared"]).optional(),
    environment: z.unknown().optional(),
    collect: z
      .array(table({ command: text("pg_dump shop > /app/shop.sql"), service: text("db").optional() }), {
        error: 'must be a list of tables with a command; write [{ command = "pg_dump shop > /app/shop.sql" }]',
      })
      .optional(),
  }).optional(),
  solution: table({ env: variables().optional() }).optional(),
  environment: table(environmentShape).optional(),
  artifacts: z.array(artifact, { error: 'must be a list of paths; write ["/app"]' }).optional(),
  steps: z.array(z.unknown(), { error: "must be a list of tables; leave it out" }).optional(),
  multi_step_reward_strategy: z.unknown().optional(),
  multi_step_reward_mode: z.unknown().optional(),
  sandlot: SANDLOT_SCHEMA.optional(),
});

const fileMode = z
  .string({ error: 'must be a text of octal digits; write one such as "0644"' })
  .regex(/^0?[0-7]{3}$/, { error: 'must be permission bits in octal; write one such as "0644"' });

export const IMAGE_SCHEMA = table({
  base: text("host").optional(),
  packages: texts("git").optional(),
  programs: texts("python3").optional(),
  files: z
    .array(table({ source: text("app"), target: text("/app"), mode: fileMode.optional() }), {
      error: "must be a list of tables with source and target; write [[files]]",
    })
    .optional(),
});

export type TaskToml = z.infer<typeof TASK_SCHEMA>;
export type ImageToml = z.infer<typeof IMAGE_SCHEMA>;
