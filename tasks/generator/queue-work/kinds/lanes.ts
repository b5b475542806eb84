/** `lanes`: work of three lanes, where nothing of a lower lane is begun while a higher one has any. */
import type { Random } from "../../../../src/core/random.ts";
import type { Kind, Place } from "../job.ts";

export function drawLanes(random: Random, _place: Place): Kind {
  const key = random.pick(["site", "yard", "harbour"]);
  const job = random.pick(["job", "chore", "errand"]);
  const table = random.pick(["agenda", "plan", "roster"]);
  const lanes = random.pick([
    ["urgent", "normal", "bulk"],
    ["red", "amber", "green"],
    ["first", "second", "third"],
  ]);
  const reason = random.pick(["too-long", "over-limit"]);
  const limit = random.integer(40, 60);
  return {
    name: "lanes",
    description: `Plan work of three lanes in order of urgency, from a queue`,
    key,
    fields: [
      { name: key, type: "str", prose: `the ${key}` },
      { name: job, type: "str", prose: "what is to be done" },
      { name: "minutes", type: "int", prose: "how long it takes, never negative" },
    ],
    known: `how many minutes the way to the ${key} takes, an integer of 0 or more`,
    rules: [
      `Work is taken in order of urgency: first all messages of the lane \`${lanes[0]}\`, then those of \`${lanes[1]}\`, then those of \`${lanes[2]}\`; within a lane in the order of the stream. A message of a lower lane is not begun while one of a higher lane is not acknowledged yet, one that is tried again included. All messages are there before the program starts.`,
      `The table \`${table}\` has one row for each message that took effect: \`place\` (1 for the first message that took effect in this folder, 2 for the second, and so on without gaps, also from one start of the program to the next), \`${job}\`, \`${key}\` and \`done\` (the sum, over this row and those of all lower places, of the minutes of the work and of the way to its ${key}).`,
      `Work whose own minutes and way together exceed ${limit} has no effect; it becomes a dead letter with the reason \`${reason}\`. ${limit} itself is allowed.`,
    ],
    lanes,
    isOrdered: true,
    isPublishing: false,
    showsRepeats: true,
    given: {
      value: (random) => random.integer(0, 20),
      fields: (random) => ({ [job]: random.pick(["mow", "paint", "weld"]), minutes: random.integer(1, limit - 5) }),
    },
    tables: [
      {
        name: table,
        columns: [
          ["place", "INTEGER"],
          [job, "TEXT"],
          [key, "TEXT"],
          ["done", "INTEGER"],
        ],
        key: "PRIMARY KEY (place)",
      },
    ],
    worker: `
def effect(db, broker, body, value):
    minutes = body["minutes"] + value
    if minutes > ${limit}:
        return "${reason}"
    place, done = db.execute("SELECT count(*), coalesce(max(done), 0) FROM ${table}").fetchone()
    db.execute("INSERT INTO ${table} VALUES (?, ?, ?, ?)", (place + 1, body["${job}"], body["${key}"], done + minutes))
`,
    model: `
class Rule:
    def __init__(self):
        self.rows, self.done, self.out = [], 0, []

    def apply(self, body, value):
        if value + body["minutes"] > ${limit}:
            return "${reason}"
        self.done += value + body["minutes"]
        self.rows.append([len(self.rows) + 1, body["${job}"], body["${key}"], self.done])

    def tables(self):
        return {"${table}": self.rows}
`,
    inputs: `
def some_value(random):
    return random.randrange(0, 30)


def some_fields(random, index, key, value):
    return {"${job}": random.choice(["mow", "paint", "weld", "sweep"]), "minutes": random.randrange(1, ${limit - 10})}
`,
    edges: `
def edges(random):
    way = random.randrange(1, 20)
    minutes = [0, ${limit} - way, ${limit} - way + 1, ${limit}, ${limit} + 1]
    return {"far": way, "near": 0}, [{"${key}": key, "${job}": "mow", "minutes": count} for count in minutes for key in ("far", "near")]
`,
    flaws: {
      "limit-not-allowed": { from: `minutes > ${limit}`, to: `minutes >= ${limit}` },
      "way-not-counted": { from: `if minutes > ${limit}`, to: `if body["minutes"] > ${limit}` },
    },
  };
}
