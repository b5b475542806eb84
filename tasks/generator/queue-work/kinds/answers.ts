/** `answers`: requests for a price, each answered on the asker's subject and booked. */
import type { Random } from "../../../../src/core/random.ts";
import type { Kind, Place } from "../job.ts";

export function drawAnswers(random: Random, { outSubject }: Place): Kind {
  const key = random.pick(["item", "article", "part"]);
  const asker = random.pick(["client", "asker", "branch"]);
  const quantity = random.pick(["quantity", "pieces", "units"]);
  const price = random.pick(["price", "total", "sum"]);
  const table = random.pick(["quotes", "offers", "answered"]);
  const reason = random.pick(["no-quantity", "nothing-asked"]);
  const from = random.integer(8, 25);
  const percent = random.pick([5, 7, 12, 15]);
  return {
    name: "answers",
    description: `Answer requests for a price of a queue, and book what was answered`,
    key,
    fields: [
      { name: key, type: "str", prose: `the ${key} asked for` },
      { name: asker, type: "str", prose: "who asks: lower-case ASCII letters" },
      { name: quantity, type: "int", prose: `how many are asked for` },
    ],
    known: `the price of one ${key} in cents, a positive integer`,
    rules: [
      `The price of a request is the price of one times \`${quantity}\`. From ${from} on (${from} itself too) it is ${percent} percent less, rounded down to a whole cent: price times ${100 - percent}, divided by 100, without the rest.`,
      `The answer is published on the subject \`${outSubject}.ASKER\`, where ASKER is the request's \`${asker}\`. Its data is a JSON object of \`id\` (the request's id) and \`${price}\` (an integer). No id is answered twice.`,
      `The table \`${table}\` has one row for each asker who was answered: \`${asker}\`, \`answers\` (how many) and \`${price}\` (their sum).`,
      `A request with a \`${quantity}\` below 1 is not answered; it becomes a dead letter with the reason \`${reason}\`.`,
    ],
    lanes: ["new"],
    isOrdered: false,
    isPublishing: true,
    showsRepeats: true,
    given: {
      value: (random) => random.integer(11, 999),
      fields: (random) => ({
        [asker]: random.pick(["north", "south", "quay"]),
        [quantity]: random.integer(0, 2 * from),
      }),
    },
    tables: [
      {
        name: table,
        columns: [
          [asker, "TEXT"],
          ["answers", "INTEGER"],
          [price, "INTEGER"],
        ],
        key: `PRIMARY KEY (${asker})`,
      },
    ],
    worker: `
def effect(db, broker, body, value):
    asker, quantity = body["${asker}"], body["${quantity}"]
    if quantity < 1:
        return "${reason}"
    price = value * quantity
    if quantity >= ${from}:
        price = price * ${100 - percent} // 100
    db.execute(
        'INSERT INTO ${table} VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET answers = answers + 1, ${price} = ${price} + excluded.${price}',
        (asker, price),
    )
    answer = {"id": body[ID], "${price}": price}
    broker.publish(f"${outSubject}.{asker}", json.dumps(answer).encode(), {"Nats-Msg-Id": once(body[ID])})
`,
    model: `
class Rule:
    def __init__(self):
        self.out = []

    def apply(self, body, value):
        count = body["${quantity}"]
        if count <= 0:
            return "${reason}"
        price = count * value - (0 if count < ${from} else -(-count * value * ${percent} // 100))
        self.out.append(["${outSubject}." + body["${asker}"], {"id": body[ID], "${price}": price}])

    def tables(self):
        prices = {}
        for subject, answer in self.out:
            prices.setdefault(subject.split(".")[-1], []).append(answer["${price}"])
        return {"${table}": [[asker, len(all), sum(all)] for asker, all in prices.items()]}
`,
    inputs: `
def some_value(random):
    return random.randrange(11, 999)


def some_fields(random, index, key, value):
    return {"${asker}": random.choice(["north", "south", "quay", "mill"]), "${quantity}": random.randrange(1, ${2 * from})}
`,
    edges: `
def edges(random):
    counts = [1, 0, -1, ${from - 1}, ${from}, ${from + 1}, -${from}, ${4 * from + 1}]
    return {"odd": 2 * random.randrange(50, 200) + 1, "one": 1}, [
        {"${key}": key, "${asker}": random.choice(["east", "west"]), "${quantity}": count} for key in ("odd", "one") for count in counts
    ]
`,
    flaws: {
      "less-from-one-more": { from: `quantity >= ${from}`, to: `quantity > ${from}` },
      "rounds-to-nearest": { from: `price * ${100 - percent} // 100`, to: `(price * ${100 - percent} + 99) // 100` },
      "answers-none": { from: "if quantity < 1:", to: "if quantity < 0:" },
    },
  };
}
