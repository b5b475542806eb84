/**
 * `queue-work`: a consumer of a NATS JetStream queue, graded on brokers of its own with programs that are killed, brokers
 * that are restarted and messages that are bad. A kind draws what a message does; dead letters, duplicates, retries and
 * faults are the same in all.
 */
import type { Random } from "../../../src/core/random.ts";
import type { FolderGenerator } from "../../../src/core/task-folder.ts";
import { type DraftWrong, drawnFolder } from "../../../src/task/draft.ts";
import { CLIENT_LIBRARY, LIBRARY_FOLDER } from "./client-library.ts";
import { hiddenTests, type Tier, testId, testsOf } from "./hidden-tests.ts";
import { instructionOf } from "./instruction.ts";
import type { Job, Place } from "./job.ts";
import { KINDS } from "./kinds/kinds.ts";
import { requirementsOf } from "./requirements.ts";
import { ACKNOWLEDGES_FIRST, edited, type Flaw, flawsOf, otherProgram, workerProgram } from "./worker-program.ts";

/** Of the faults that a job's worker may have, how many it ships beside the subtle one and those of the rule. */
const DRAWN_WRONG = 3;
const RULE_WRONG = 2;

const WEIGHTS: Readonly<Record<Tier, number>> = { unit: 0.3, integration: 0.3, boundary: 0.4 };

/** The easier kinds first: how far down the list a draw may go is a dial. */
const LEVELS: Readonly<Record<string, number>> = {
  totals: 2,
  "fan-out": 2,
  windows: 3,
  stages: 3,
  answers: 3,
  lanes: 4,
  "second-try": 4,
};

interface Given {
  readonly directory: Readonly<Record<string, unknown>>;
  readonly messages: readonly (readonly [subject: string, text: string])[];
}

export const generator: FolderGenerator = {
  name: "queue-work",
  family: "queue-work",
  version: 1,
  dials: {
    kinds: { min: 5, max: 7, step: 1, meaning: "how many kinds of jobs, the plainer first, may be drawn" },
    deliveries: { min: 3, max: 5, step: 1, meaning: "deliveries before a message of an unknown key is given up" },
  },
  draw({ dials: { kinds = 7, deliveries = 4 }, random }) {
    const job = drawJob(random, kinds, deliveries);
    const given = drawGiven(random.fork("given"), job);
    return drawnFolder({
      slug: `${job.kind.name}-${job.program}`,
      config: configOf(job, { kinds, deliveries }),
      instruction: instructionOf(job),
      image: {
        base: "recipe:ops",
        programs: ["python3", "bash", "nats-server"],
        files: [
          { source: "queue", target: LIBRARY_FOLDER },
          { source: "state", target: "/app/state" },
        ],
      },
      setup: SETUP,
      environment: {
        "queue/jetstream.py": CLIENT_LIBRARY,
        "queue/given.json": JSON.stringify({ streams: streamsOf(job), messages: given.messages }, null, 1),
        [`state/${job.directory}.json`]: JSON.stringify(given.directory, null, 1),
      },
      tests: hiddenTests(job, given),
      solution: { solve: solve(job, workerProgram(job)) },
      alternatives: { "claims-first": { solve: solve(job, otherProgram(job)) } },
      wrong: wrongSolutions(job, random.fork("wrong")),
    });
  },
};

function drawJob(random: Random, kinds: number, deliveries: number): Job {
  const structure = random.fork("structure");
  const surface = random.fork("surface");
  const [word, out, dead] = [
    surface.pick(["inbox", "intake", "arrivals", "orders", "feed"]),
    surface.pick(["outbox", "notices", "sendings", "departures"]),
    surface.pick(["dead", "morgue", "rejects", "limbo"]),
  ];
  const place: Place = {
    program: surface.pick(["worker", "consumer", "clerk", "miller", "porter"]),
    stream: word.toUpperCase(),
    subject: word,
    outStream: out.toUpperCase(),
    outSubject: out,
    deadStream: dead.toUpperCase(),
    deadSubject: `${dead}.${surface.pick(["letters", "all", "messages"])}`,
    database: `${surface.pick(["ledger", "books", "record", "results"])}.db`,
    handled: surface.pick(["handled", "done_ids", "taken", "effected"]),
    directory: surface.pick(["directory", "known", "register", "catalogue"]),
    id: surface.pick(["id", "ref", "uid", "ticket"]),
    deliveries,
    malformed: surface.pick(["malformed", "unreadable", "bad-form"]),
    unknown: surface.pick(["unknown", "stranger", "not-listed"]),
  };
  const kind = structure.pick(KINDS.slice(0, kinds))(surface.fork("kind"), place);
  const name = surface.pick(["mill", "desk", "crew", "gang"]);
  const consumers = kind.lanes.map((lane) => ({ lane, name: kind.lanes.length === 1 ? name : `${name}-${lane}` }));
  return { ...place, kind, consumers };
}

function streamsOf(job: Job): Readonly<Record<string, readonly string[]>> {
  return {
    [job.stream]: [`${job.subject}.>`],
    [job.outStream]: [`${job.outSubject}.>`],
    [job.deadStream]: [job.deadSubject],
  };
}

function drawGiven(random: Random, job: Job): Given {
  const { kind, id, subject } = job;
  const keys = random.shuffle(["ash", "beech", "lime", "rowan", "willow"]).slice(0, 3);
  const bodies = Array.from({ length: 14 }, (_, index) => {
    const one = random.fork(`message-${index}`);
    return JSON.stringify({
      [id]: `${one.pick(["m", "n"])}-${index + 1}`,
      [kind.key]: index === 9 ? "nowhere" : one.pick(keys),
      ...kind.given.fields(one, index),
    });
  });
  const texts = [...bodies.slice(0, 6), bodies[2] ?? "", "{not JSON", ...bodies.slice(6), bodies[4] ?? ""];
  return {
    directory: Object.fromEntries(keys.map((key) => [key, kind.given.value(random.fork(key))])),
    messages: texts.map((text, index) => [`${subject}.${random.fork(`lane-${index}`).pick(kind.lanes)}`, text]),
  };
}

/** The agent's broker: its store is root's, so it is reached by its port alone. */
const SETUP = `chown -R root:root ${LIBRARY_FOLDER}
chmod -R a+rX,go-w ${LIBRARY_FOLDER}
chown -R 1000:1000 /app
rm -rf /srv/nats
mkdir -m 700 /srv/nats
setsid -f nats-server -js -sd /srv/nats -a 127.0.0.1 -p 4222 </dev/null >/dev/null 2>&1
python3 -I -c '
import json, sys, time
sys.path.insert(0, "${LIBRARY_FOLDER}")
sys.dont_write_bytecode = True
from jetstream import Broker, BrokerError
for _ in range(500):
    try:
        with Broker(4222) as broker:
            broker.api("INFO")
        break
    except (OSError, BrokerError):
        time.sleep(0.02)
given = json.load(open("${LIBRARY_FOLDER}/given.json"))
with Broker(4222) as broker:
    for name, subjects in given["streams"].items():
        broker.api("STREAM.CREATE." + name, {"name": name, "subjects": subjects})
    for subject, text in given["messages"]:
        broker.publish(subject, text.encode())
'
`;

function solve(job: Job, program: string): string {
  const path = `/app/${job.program}.py`;
  return `cat > ${path} <<'PROGRAM'\n${program}PROGRAM\npython3 ${path} 4222 /app/state\n`;
}

function wrongSolutions(job: Job, random: Random): Readonly<Record<string, DraftWrong>> {
  const wrong = ({ edits, fails }: Flaw): DraftWrong => ({
    solve: solve(job, edited(workerProgram(job), edits)),
    ...limitOf(job, fails),
  });
  const drawn = random.shuffle(Object.entries(flawsOf(job))).slice(0, DRAWN_WRONG);
  const ofRule = random.shuffle(Object.entries(job.kind.flaws)).slice(0, RULE_WRONG);
  return {
    "acknowledges-first": wrong(ACKNOWLEDGES_FIRST),
    ...Object.fromEntries(drawn.map(([name, flaw]) => [name, wrong(flaw)])),
    ...Object.fromEntries(
      ofRule.map(([name, edit]) => [name, wrong({ edits: [edit], fails: { boundary: ["test_edges"] } })]),
    ),
  };
}

/** The most that can be earned where these tests fail; without all of the unit tier the others earn nothing. */
function limitOf(job: Job, fails: Flaw["fails"]): Pick<DraftWrong, "rewardMax" | "failsTier"> {
  const share = (tier: Tier) => WEIGHTS[tier] * (1 - (fails[tier]?.length ?? 0) / testsOf(job, tier).length);
  const earned = fails.unit === undefined ? share("unit") + share("integration") + share("boundary") : share("unit");
  const failsTier =
    (["unit", "boundary", "integration"] as const).find((tier) => fails[tier] !== undefined) ?? "boundary";
  return { rewardMax: Math.ceil(earned * 10_000 - 1e-6) / 10_000, failsTier };
}

function configOf(job: Job, dials: Readonly<Record<string, number>>): Readonly<Record<string, unknown>> {
  const { kind } = job;
  const database = `/app/state/${job.database}`;
  const handled = (condition: string) => ({
    query: `SELECT count(*) ${condition} FROM ${job.handled}`,
    database,
    equals: 1,
  });
  return {
    task: { description: `${kind.description}.`, keywords: ["nats", "queue", "python", kind.name] },
    agent: { timeout_sec: 1_800 },
    verifier: { timeout_sec: 900 },
    environment: { cpus: 1, memory_mb: 512, storage_mb: 256, workdir: "/app" },
    sandlot: {
      family: "queue-work",
      difficulty: { level: LEVELS[kind.name] ?? 3, dials },
      limits: { turns: 50, command_sec: 120 },
      resources: { processes: 256 },
      contract: {
        files: [
          { path: `/app/${job.program}.py`, required: true },
          { path: "/app/state", required: true, kind: "tree" },
        ],
        bytes_max: 8_388_608,
        entries_max: 100,
      },
      protected: [LIBRARY_FOLDER],
      tiers: [
        { name: "unit", weight: WEIGHTS.unit },
        { name: "integration", weight: WEIGHTS.integration, requires: ["unit"] },
        { name: "boundary", weight: WEIGHTS.boundary, requires: ["unit"] },
      ],
      milestones: [
        { name: "program-is-there", predicate: { file: `/app/${job.program}.py`, regex: "\\S" } },
        { name: "first-message-took-effect", predicate: handled("> 0") },
      ],
      requirements: requirementsOf(job).map(({ tests, ...rest }) => ({
        ...rest,
        tests: tests.map(([tier, name]) => testId(tier, name)),
      })),
    },
  };
}
