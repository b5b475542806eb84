/** `totals`: a running total for each account, which may not fall below the account's floor. */
import type { Random } from "../../../../src/core/random.ts";
import type { Kind, Place } from "../job.ts";

export function drawTotals(random: Random, _place: Place): Kind {
  const key = random.pick(["account", "wallet", "purse", "budget"]);
  const amount = random.pick(["amount", "change", "delta"]);
  const table = random.pick(["totals", "balances", "standings"]);
  const reason = random.pick(["overdrawn", "below-floor", "refused"]);
  return {
    name: "totals",
    description: `Keep a total for each ${key} with a floor, from a queue`,
    key,
    fields: [
      { name: key, type: "str", prose: `the ${key}` },
      { name: amount, type: "int", prose: `what is added to its total; may be negative or 0` },
    ],
    known: `the *floor* of the ${key}, an integer`,
    rules: [
      `The table \`${table}\` has one row for each ${key} that had a message take effect: \`${key}\`, \`total\` (the sum of the \`${amount}\` of these messages; a total starts at 0) and \`entries\` (how many they were).`,
      `A message that would leave the total below the floor has no effect; it becomes a dead letter with the reason \`${reason}\`. A total equal to the floor is allowed.`,
      `Example: with a floor of -50, the amounts 20, -70, -1 and 5 give the total -45 with 3 entries, and one dead letter.`,
    ],
    lanes: ["new"],
    isOrdered: true,
    isPublishing: false,
    showsRepeats: true,
    given: {
      value: (random) => -random.integer(5, 40),
      fields: (random) => ({ [amount]: random.pick([7, 15, 40, -20, -45]) + random.integer(0, 4) }),
    },
    tables: [
      {
        name: table,
        columns: [
          [key, "TEXT"],
          ["total", "INTEGER"],
          ["entries", "INTEGER"],
        ],
        key: `PRIMARY KEY (${key})`,
      },
    ],
    worker: `
def effect(db, broker, body, value):
    key, amount = body["${key}"], body["${amount}"]
    row = db.execute("SELECT total, entries FROM ${table} WHERE ${key} = ?", (key,)).fetchone() or (0, 0)
    if row[0] + amount < value:
        return "${reason}"
    db.execute("INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)", (key, row[0] + amount, row[1] + 1))
`,
    model: `
class Rule:
    def __init__(self):
        self.amounts, self.out = {}, []

    def apply(self, body, value):
        taken = self.amounts.get(body["${key}"], [])
        if sum(taken) + body["${amount}"] < value:
            return "${reason}"
        self.amounts[body["${key}"]] = taken + [body["${amount}"]]

    def tables(self):
        return {"${table}": [[key, sum(taken), len(taken)] for key, taken in self.amounts.items()]}
`,
    inputs: `
def some_value(random):
    return -random.randrange(40)


def some_fields(random, index, key, value):
    return {"${amount}": random.choice([7, 15, 40, 0, -20, -45]) + random.randrange(5)}
`,
    edges: `
def edges(random):
    floor = -random.randrange(20, 60)
    amounts = [floor, -1, 0, 12, -13, 1, -1]
    return {"edge": floor, "zero": 0}, [{"${key}": key, "${amount}": amount} for amount in amounts for key in ("edge", "zero")]
`,
    flaws: {
      "floor-not-allowed": { from: "amount < value", to: "amount <= value" },
      "counts-what-it-refuses": {
        from: `        return "${reason}"`,
        to: `        db.execute("INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)", (key, row[0], row[1] + 1))`,
      },
    },
  };
}
