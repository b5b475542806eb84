/** `second-try`: dead letters of other queues, mended and sent back, or parked when they were tried too often. */
import type { Random } from "../../../../src/core/random.ts";
import type { Kind, Place } from "../job.ts";

export function drawSecondTry(random: Random, { outSubject }: Place): Kind {
  const key = random.pick(["origin", "source", "queue"]);
  const text = random.pick(["text", "letter", "content"]);
  const [old, now] = random.pick([
    ["sum", "cents"],
    ["price", "price_cents"],
    ["cost", "cost_cents"],
  ] as const);
  const table = random.pick(["parked", "shelved", "laid_aside"]);
  const reason = random.pick(["hopeless", "beyond-repair"]);
  const tries = random.integer(2, 5);
  return {
    name: "second-try",
    description: `Mend dead letters of other queues and send them back, or park them`,
    key,
    fields: [
      { name: key, type: "str", prose: "the queue that gave it up" },
      { name: text, type: "str", prose: "its data as it was" },
      { name: "tries", type: "int", prose: "how often it was sent back before" },
    ],
    known: `the word that names the queue in a subject: lower-case ASCII letters`,
    rules: [
      `A message with \`tries\` of ${tries} or more is parked: the table \`${table}\` gets a row with its \`id\`, \`${key}\` and \`tries\`, and nothing is published, whatever its \`${text}\` is.`,
      `Any other is mended. Its \`${text}\` must be a JSON object with a field \`${now}\` that is an integer (then that is the amount, whatever else is there), or else with a field \`${old}\` that is a string of an optional minus sign, one or more ASCII digits, and optionally a comma or a dot with exactly two more digits, and nothing else. That is an amount of whole units and hundredths, to be given in hundredths: \`"12"\` is 1200, \`"-0,50"\` is -50. true and false are no integers.`,
      `What is mended is published on \`${outSubject}.WORD\`, where WORD is the word of its \`${key}\`. Its data is a JSON object of \`id\` (the message's id), \`tries\` (one more than it was) and \`${now}\`. No id is published twice.`,
      `What cannot be mended becomes a dead letter with the reason \`${reason}\`.`,
    ],
    lanes: ["new"],
    isOrdered: false,
    isPublishing: true,
    showsRepeats: false,
    given: {
      value: (random) => random.pick(["mills", "ports", "farms"]),
      fields: (random, index) => ({
        [text]: random.pick([`{"${old}": "${index},50"}`, `{"${now}": ${index}}`, `{"${old}": "much"}`]),
        tries: random.pick([0, 1, tries]),
      }),
    },
    tables: [
      {
        name: table,
        columns: [
          ["id", "TEXT"],
          [key, "TEXT"],
          ["tries", "INTEGER"],
        ],
        key: "PRIMARY KEY (id)",
      },
    ],
    worker: `
def amount_of(text):
    try:
        old = json.loads(text)
    except ValueError:
        return None
    if not isinstance(old, dict):
        return None
    if type(old.get("${now}")) is int:
        return old["${now}"]
    found = re.fullmatch(r"(-?)([0-9]+)(?:[.,]([0-9][0-9]))?", old["${old}"]) if type(old.get("${old}")) is str else None
    if found is None:
        return None
    amount = int(found[2]) * 100 + int(found[3] or 0)
    return -amount if found[1] else amount


def effect(db, broker, body, value):
    if body["tries"] >= ${tries}:
        db.execute("INSERT INTO ${table} VALUES (?, ?, ?)", (body[ID], body["${key}"], body["tries"]))
        return None
    amount = amount_of(body["${text}"])
    if amount is None:
        return "${reason}"
    mended = {"id": body[ID], "tries": body["tries"] + 1, "${now}": amount}
    broker.publish(f"${outSubject}.{value}", json.dumps(mended).encode(), {"Nats-Msg-Id": once(body[ID])})
`,
    model: `
def hundredths(old):
    if isinstance(old.get("${now}"), int) and not isinstance(old["${now}"], bool):
        return old["${now}"]
    text = old.get("${old}")
    if not isinstance(text, str):
        return None
    sign, digits = (-1, text[1:]) if text[:1] == "-" else (1, text)
    if len(digits) > 3 and digits[-3] in ",.":
        digits = digits[:-3] + digits[-2:]
    else:
        digits += "00"
    return sign * int(digits) if digits.isascii() and digits.isdigit() and len(digits) > 2 else None


class Rule:
    def __init__(self):
        self.parked, self.out = [], []

    def apply(self, body, value):
        if body["tries"] >= ${tries}:
            self.parked.append([body[ID], body["${key}"], body["tries"]])
            return None
        try:
            old = json.loads(body["${text}"])
        except ValueError:
            old = None
        amount = hundredths(old) if isinstance(old, dict) else None
        if amount is None:
            return "${reason}"
        self.out.append(["${outSubject}." + value, {"id": body[ID], "tries": body["tries"] + 1, "${now}": amount}])

    def tables(self):
        return {"${table}": self.parked}
`,
    inputs: `
def some_value(random):
    return random.choice(["mills", "ports", "farms", "mines"])


def some_fields(random, index, key, value):
    amount = f"{random.randrange(200)}{random.choice(',.')}{random.randrange(100):02}"
    old = random.choice([{"${old}": amount}, {"${old}": amount}, {"${now}": random.randrange(999)}, {"${old}": "much"}])
    return {"${text}": json.dumps(old), "tries": random.choice([0, 0, 1, ${tries}])}
`,
    edges: `
def edges(random):
    texts = [json.dumps({"${old}": text}) for text in (
        "12", "-0,50", "0.05", "007,10", "12,5", "12,505", "1.000,00", "", "-", ",50", " 12", "12 ", "+3", "12,50\\n", "\\u0661\\u0662"
    )]
    texts += [json.dumps(old) for old in ({"${now}": 0}, {"${now}": True, "${old}": "3"}, {"${now}": 4, "${old}": "3"}, {"${old}": 12}, [], 7, None)]
    texts += ["{", "no JSON", json.dumps({"${old}": str(random.randrange(1000))})]
    bodies = [{"${key}": "one", "${text}": text, "tries": 0} for text in texts]
    return {"one": "mills", "two": "ports"}, bodies + [
        {"${key}": "two", "${text}": text, "tries": count} for text in ("{", texts[0]) for count in (${tries - 1}, ${tries}, ${tries + 1})
    ]
`,
    flaws: {
      "once-too-often": { from: `body["tries"] >= ${tries}`, to: `body["tries"] > ${tries}` },
      "minus-of-whole-units-only": {
        from: "    return -amount if found[1] else amount",
        to: "    return amount if found[1] == '' or int(found[2]) == 0 else -amount",
      },
      "true-is-an-integer": { from: `type(old.get("${now}")) is int`, to: `isinstance(old.get("${now}"), int)` },
    },
  };
}
