/** `windows`: readings counted in windows of time, with those refused that come too late. */
import type { Random } from "../../../../src/core/random.ts";
import type { Kind, Place } from "../job.ts";

export function drawWindows(random: Random, _place: Place): Kind {
  const key = random.pick(["sensor", "meter", "probe", "gauge"]);
  const at = random.pick(["at", "time", "second"]);
  const reading = random.pick(["reading", "level", "measure"]);
  const table = random.pick(["windows", "spans", "slots"]);
  const extreme = random.pick(["highest", "lowest"] as const);
  const grace = random.integer(20, 90);
  const sql = extreme === "highest" ? "max" : "min";
  return {
    name: "windows",
    description: `Count readings of each ${key} in windows of time, from a queue`,
    key,
    fields: [
      { name: key, type: "str", prose: `the ${key}` },
      { name: at, type: "int", prose: "when it was read, in seconds, never negative" },
      { name: reading, type: "int", prose: "what was read; may be negative" },
    ],
    known: `the length of the ${key}'s windows in seconds, a positive integer`,
    rules: [
      `A window of length L begins at a multiple of L, and holds the seconds from its begin to L - 1 later. The table \`${table}\` has one row for each ${key} and window that holds a reading: \`${key}\`, \`begin\` (the window's first second), \`readings\` (how many) and \`${extreme}\` (the ${extreme} \`${reading}\`).`,
      `A reading is too late when its \`${at}\` is more than ${grace} seconds before the greatest \`${at}\` that took effect for the same ${key} until then. It has no effect, and becomes a dead letter with the reason \`late\`. One that is exactly ${grace} seconds before is not too late.`,
      `Example: with a length of 60, readings at 59 and 60 lie in two windows, which begin at 0 and 60.`,
    ],
    lanes: ["new"],
    isOrdered: true,
    isPublishing: false,
    showsRepeats: true,
    given: {
      value: (random) => random.pick([30, 45, 60]),
      fields: (random, index) => ({
        [at]: 1_000 + index * 17 - random.pick([0, 3, 9, grace + 200]),
        [reading]: random.integer(-50, 50),
      }),
    },
    tables: [
      {
        name: table,
        columns: [
          [key, "TEXT"],
          ["begin", "INTEGER"],
          ["readings", "INTEGER"],
          [extreme, "INTEGER"],
        ],
        key: `PRIMARY KEY (${key}, begin)`,
      },
    ],
    worker: `
def effect(db, broker, body, value):
    key, at, reading = body["${key}"], body["${at}"], body["${reading}"]
    db.execute("CREATE TABLE IF NOT EXISTS newest (name TEXT PRIMARY KEY, at INTEGER)")
    newest = db.execute("SELECT at FROM newest WHERE name = ?", (key,)).fetchone()
    if newest is not None and at < newest[0] - ${grace}:
        return "late"
    db.execute("INSERT OR REPLACE INTO newest VALUES (?, ?)", (key, at if newest is None else max(at, newest[0])))
    db.execute(
        'INSERT INTO ${table} VALUES (?, ?, 1, ?) ON CONFLICT DO UPDATE SET readings = readings + 1,'
        " ${extreme} = ${sql}(${extreme}, excluded.${extreme})",
        (key, at - at % value, reading),
    )
`,
    model: `
class Rule:
    def __init__(self):
        self.newest, self.windows, self.out = {}, {}, []

    def apply(self, body, value):
        key, at = body["${key}"], body["${at}"]
        if self.newest.get(key, 0) - at > ${grace}:
            return "late"
        self.newest[key] = max(at, self.newest.get(key, 0))
        self.windows.setdefault((key, at // value * value), []).append(body["${reading}"])

    def tables(self):
        return {"${table}": [[key, begin, len(all), ${sql}(all)] for (key, begin), all in self.windows.items()]}
`,
    inputs: `
def some_value(random):
    return random.choice([30, 45, 60, 100])


def some_fields(random, index, key, value):
    late = ${grace} + 200 if random.random() < 0.05 else random.randrange(${Math.floor(grace / 2)})
    return {"${at}": max(0, 5000 + index * 9 - late), "${reading}": random.randrange(-50, 50)}
`,
    edges: `
def edges(random):
    length, base = random.choice([30, 60]), 60 * random.randrange(20, 90)
    times = [0, 5, base - 1, base, base + length - 1, base + length]
    newest = times[-1]
    times += [newest - ${grace}, newest - ${grace} - 1, newest + 500, newest, newest + 500 - ${grace}]
    return {"edge": length, "odd": 7}, [
        {"${key}": key, "${at}": at, "${reading}": random.choice([-1, 1]) * random.randrange(1, 90)} for at in times for key in ("edge", "odd")
    ]
`,
    flaws: {
      "late-too-early": { from: `at < newest[0] - ${grace}`, to: `at <= newest[0] - ${grace}` },
      "last-is-the-newest": { from: "at if newest is None else max(at, newest[0])", to: "at" },
      "windows-from-the-second-second": { from: "at - at % value", to: "(at - 1) - (at - 1) % value" },
    },
  };
}
