/** `fan-out`: each note goes to all who follow its topic, once each, and not to its author. */
import type { Random } from "../../../../src/core/random.ts";
import type { Kind, Place } from "../job.ts";

export function drawFanOut(random: Random, { outSubject }: Place): Kind {
  const key = random.pick(["topic", "channel", "room"]);
  const text = random.pick(["text", "note", "words"]);
  const author = random.pick(["author", "sender", "writer"]);
  const to = random.pick(["to", "reader", "follower"]);
  return {
    name: "fan-out",
    description: `Send each note of a queue to those who follow its ${key}`,
    key,
    fields: [
      { name: key, type: "str", prose: `the ${key}` },
      { name: author, type: "str", prose: "who wrote it" },
      { name: text, type: "str", prose: "what is passed on, any Unicode text" },
    ],
    known: `the list of those who follow the ${key}: names of lower-case ASCII letters; it may be empty, and may name somebody twice`,
    rules: [
      `For each different name in the list but the message's \`${author}\`, one message is published on the subject \`${outSubject}.NAME\`. Its data is a JSON object of \`id\` (the message's id), \`${to}\` (the name) and \`${text}\` (as it came). A message for nobody still takes effect.`,
      `Nobody gets a message twice for the same id, also when the program ended after some of the messages of one id had been published. In which order they are published does not matter.`,
      `Example: with the list \`["ann", "bo", "ann"]\`, a message by \`bo\` is published once, on \`${outSubject}.ann\`.`,
    ],
    lanes: ["new"],
    isOrdered: false,
    isPublishing: true,
    showsRepeats: false,
    given: {
      value: (random) => random.shuffle(["ann", "bo", "cleo", "dan"]).slice(0, random.integer(1, 3)),
      fields: (random, index) => ({ [author]: random.pick(["ann", "bo", "zoe"]), [text]: `words ${index}` }),
    },
    tables: [],
    worker: `
def effect(db, broker, body, value):
    for name in sorted(set(value) - {body["${author}"]}):
        letter = {"id": body[ID], "${to}": name, "${text}": body["${text}"]}
        broker.publish(f"${outSubject}.{name}", json.dumps(letter).encode(), {"Nats-Msg-Id": once(f"{body[ID]} {name}")})
`,
    model: `
class Rule:
    def __init__(self):
        self.out = []

    def apply(self, body, value):
        for name in dict.fromkeys(value):
            if name != body["${author}"]:
                self.out.append(["${outSubject}." + name, {"id": body[ID], "${to}": name, "${text}": body["${text}"]}])

    def tables(self):
        return {}
`,
    inputs: `
def some_value(random):
    return random.sample(["ann", "bo", "cleo", "dan", "eve", "finn"], random.randrange(1, 4))


def some_fields(random, index, key, value):
    return {"${author}": random.choice(["ann", "bo", "zoe"]), "${text}": f"word {random.randrange(10**6)}"}
`,
    edges: `
def edges(random):
    some = random.choice(["gus", "hal", "ida"])
    directory = {"none": [], "self": [some], "twice": [some, "jo", some], "two": ["jo", some]}
    texts = ["caf\\u00e9 \\u2603", "a \\"quoted\\" line\\nand another", " ", str(random.random())]
    return directory, [{"${key}": key, "${author}": some, "${text}": text} for key in directory for text in texts] + [
        {"${key}": key, "${author}": "nobody", "${text}": "last"} for key in directory
    ]
`,
    flaws: {
      "sends-to-the-author": { from: ` - {body["${author}"]}`, to: "" },
      "trims-the-text": { from: `"${text}": body["${text}"]`, to: `"${text}": body["${text}"].strip()` },
      "one-id-for-all": { from: `once(f"{body[ID]} {name}")`, to: "once(body[ID])" },
    },
  };
}
