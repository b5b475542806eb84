/** `stages`: each thing moves through its own stages by events, of which some are refused. */
import type { Random } from "../../../../src/core/random.ts";
import type { Kind, Place } from "../job.ts";

export function drawStages(random: Random, _place: Place): Kind {
  const key = random.pick(["parcel", "order", "permit", "repair"]);
  const event = random.pick(["event", "verb", "action"]);
  const [on, back, stop, stopped] = random.pick([
    ["advance", "return", "cancel", "cancelled"],
    ["next", "undo", "drop", "dropped"],
    ["forward", "back", "halt", "halted"],
  ] as const);
  const table = random.pick(["progress", "journeys", "files"]);
  const reason = random.pick(["illegal", "forbidden", "impossible"]);
  return {
    name: "stages",
    description: `Move each ${key} through its stages, in order, from a queue`,
    key,
    fields: [
      { name: key, type: "str", prose: `the ${key}` },
      { name: event, type: "str", prose: "what happened to it" },
    ],
    known: `the list of the ${key}'s stages in their order: two to five different names, none of them \`${stopped}\``,
    rules: [
      `A ${key} begins in the first stage of its list. \`${on}\` moves it to the next stage, \`${back}\` to the one before, \`${stop}\` sets its stage to \`${stopped}\`. In the last stage, and when \`${stopped}\`, it is finished: no event is allowed any more. \`${back}\` is not allowed in the first stage. No other events are.`,
      `An event that is not allowed has no effect; it becomes a dead letter with the reason \`${reason}\`.`,
      `The table \`${table}\` has one row for each ${key} that had an event take effect: \`${key}\`, \`stage\` (where it is now) and \`moves\` (how many events took effect).`,
      `Example: with the stages \`["a", "b", "c"]\`, the events \`${on}\`, \`${back}\`, \`${back}\`, \`${on}\` end in \`b\` after 3 moves, with one dead letter.`,
    ],
    lanes: ["new"],
    isOrdered: true,
    isPublishing: false,
    showsRepeats: true,
    given: {
      value: (random) => random.shuffle(["asked", "weighed", "paid", "packed", "sent"]).slice(0, 4),
      fields: (random) => ({ [event]: random.pick([on, on, on, back, stop]) }),
    },
    tables: [
      {
        name: table,
        columns: [
          [key, "TEXT"],
          ["stage", "TEXT"],
          ["moves", "INTEGER"],
        ],
        key: `PRIMARY KEY ("${key}")`,
      },
    ],
    worker: `
def effect(db, broker, body, value):
    key, event = body["${key}"], body["${event}"]
    row = db.execute('SELECT stage, moves FROM ${table} WHERE "${key}" = ?', (key,)).fetchone()
    stage, moves = row or (value[0], 0)
    if stage in ("${stopped}", value[-1]):
        return "${reason}"
    if event == "${on}":
        stage = value[value.index(stage) + 1]
    elif event == "${back}" and stage != value[0]:
        stage = value[value.index(stage) - 1]
    elif event == "${stop}":
        stage = "${stopped}"
    else:
        return "${reason}"
    db.execute("INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)", (key, stage, moves + 1))
`,
    model: `
class Rule:
    def __init__(self):
        self.at, self.out = {}, []

    def apply(self, body, value):
        step = {"${on}": 1, "${back}": -1, "${stop}": 100}.get(body["${event}"])
        place, moves, _ = self.at.get(body["${key}"], (0, 0, None))
        if step is None or place >= len(value) - 1 or place + step < 0:
            return "${reason}"
        place += step
        self.at[body["${key}"]] = (place, moves + 1, "${stopped}" if place >= 99 else value[place])

    def tables(self):
        return {"${table}": [[key, stage, moves] for key, (_, moves, stage) in self.at.items()]}
`,
    inputs: `
def some_value(random):
    return random.sample(["asked", "weighed", "paid", "packed", "sent", "held"], random.randrange(4, 6))


def some_fields(random, index, key, value):
    return {"${event}": random.choice(["${on}"] * 5 + ["${back}"] * 4 + ["${stop}"] * (random.random() < 0.1))}
`,
    edges: `
def edges(random):
    stages = random.sample(["asked", "weighed", "paid", "packed"], 3)
    directory = {"first": stages, "last": stages[:2], "halted": stages, "other": stages}
    plan = [("first", "${back}"), ("first", "${on}"), ("first", "${back}"), ("first", "${back}"), ("last", "${on}"), ("last", "${back}")]
    plan += [("last", "${stop}"), ("halted", "${stop}"), ("halted", "${on}"), ("halted", "${back}"), ("halted", "${stop}")]
    plan += [("other", "${on.toUpperCase()}"), ("other", "leap"), ("other", "${on}"), ("other", "${on}"), ("other", "${on}")]
    return directory, [{"${key}": key, "${event}": event} for key, event in plan]
`,
    flaws: {
      "leaves-the-last-stage": {
        from: `if stage in ("${stopped}", value[-1]):`,
        to: `if stage == "${stopped}" or (stage == value[-1] and event == "${on}"):`,
      },
      "back-from-the-first": {
        from: `elif event == "${back}" and stage != value[0]:\n        stage = value[value.index(stage) - 1]`,
        to: `elif event == "${back}":\n        stage = value[max(0, value.index(stage) - 1)]`,
      },
      "any-case": {
        from: `event = body["${key}"], body["${event}"]`,
        to: `event = body["${key}"], body["${event}"].lower()`,
      },
    },
  };
}
