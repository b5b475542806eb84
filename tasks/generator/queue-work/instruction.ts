/** The job in prose: every rule that a hidden test asserts, and nothing of how to do it. */
import { LIBRARY_FOLDER } from "./client-library.ts";
import type { Job } from "./job.ts";

export function instructionOf(job: Job): string {
  const { kind, id } = job;
  const fields = [
    `   - \`${id}\`, a string: names the message`,
    ...kind.fields.map(
      ({ name, type, prose }) => `   - \`${name}\`, ${type === "str" ? "a string" : "an integer"}: ${prose}`,
    ),
  ];
  const rules = [
    `A good message is a JSON object in UTF-8 with these fields; further fields are ignored.\n\n${fields.join("\n")}\n\n   Strings are not empty. An integer is a JSON number without fraction or exponent; true and false are no integers. All else is malformed.`,
    `**Dead letters.** A malformed message becomes a dead letter with the reason \`${job.malformed}\` at its first delivery. A dead letter is published on \`${job.deadSubject}\`, once for each message, as a JSON object: \`sequence\` (the message's sequence number in \`${job.stream}\`), \`reason\`, \`deliveries\` (how often the message had been delivered by then, as the broker counts) and \`text\` (the data, decoded as UTF-8 with what cannot be decoded replaced, as Python's \`errors="replace"\` does). The message itself is then settled with the broker for good.`,
    `**Duplicates.** A good message whose \`${id}\` has taken effect before is settled and does nothing more. Ids of dead letters do not count as having taken effect.`,
    `**Unknown.** \`FOLDER/${job.directory}.json\` is a JSON object that has for each known \`${kind.key}\` ${kind.known}. It may change at any time, and what it says when a message is handled counts. A good message, no duplicate, whose \`${kind.key}\` is not in it is given back to the broker (a negative acknowledgement), to be delivered again about 0.2 seconds later. At its delivery number ${job.deliveries} it becomes a dead letter with the reason \`${job.unknown}\` instead.`,
    ...kind.rules,
    `The effects are kept in the SQLite database \`FOLDER/${job.database}\`, which the program makes where it is missing, with the tables that are named here even where nothing took effect. The table \`${job.handled}\` has the column \`id\` and one row for the \`${id}\` of each message that took effect. You may add tables of your own.`,
    ...(kind.isOrdered
      ? [
          "**Order.** Messages take effect in the order of the stream, as far as nothing else is said here. A message is not begun before the one before it is settled, also when that one is delivered again.",
        ]
      : [
          "**Order.** Messages may take effect in any order. One that waits to be delivered again need not hold up others.",
        ]),
    `**Faults.** The program may be killed at any moment, and is then started again in the same folder; the broker delivers again what was not acknowledged. In the end each message has had its effect exactly once. The broker may be restarted on the same port: connections break, and nobody listens there for up to 10 seconds. The program keeps trying to connect for at least that long, and goes on.`,
    `When no message is left that was not settled (none waits for its first delivery, none for another), the program exits with 0. With an empty stream it does so at once.`,
  ];
  return `Write the consumer \`/app/${job.program}.py\` for a queue in NATS JetStream, and run it once on the messages that are there.

It is called as \`python3 /app/${job.program}.py PORT FOLDER\`. A broker listens on 127.0.0.1 at PORT; FOLDER is an existing folder for
the program's state. The broker has three streams, which the program does not change:

- \`${job.stream}\` takes \`${job.subject}.>\`; the messages to be handled come on ${subjects(job)}.
- \`${job.outStream}\` takes \`${job.outSubject}.>\`: what the program publishes${kind.isPublishing ? "" : " (nothing, in this job)"}.
- \`${job.deadStream}\` takes \`${job.deadSubject}\`: dead letters.

${consumers(job)} Messages are settled by their consumer alone: they stay in the stream.

${rules.map((rule, index) => `${index + 1}. ${rule}`).join("\n")}

A broker runs on port 4222 with a few messages, some of them bad, and \`/app/state/${job.directory}.json\` is there. When your program is
ready, run \`python3 /app/${job.program}.py 4222 /app/state\`; the tables in \`/app/state/${job.database}\` are graded. The program is also graded on
other brokers, with up to 300 messages in a stream; each test takes 20 seconds at most, kills and restarts included, and 60 where there are
more than 100 messages.

There is Python 3 with its standard library, and a small client in \`${LIBRARY_FOLDER}/jetstream.py\`: its docstrings say how it is used. Programs
may import it from there. \`nats-server\` is there too, so that you can start a broker of your own, with
\`nats-server -js -sd STORE -a 127.0.0.1 -p PORT\`; make its streams by the client.
`;
}

function subjects({ kind, subject }: Job): string {
  return kind.lanes.map((lane) => `\`${subject}.${lane}\``).join(", ");
}

function consumers({ kind, consumers, subject, stream }: Job): string {
  const [first] = consumers;
  if (kind.lanes.length === 1 && first !== undefined) {
    return `The program reads \`${stream}\` through the durable pull consumer \`${first.name}\`, with explicit acknowledgement and an acknowledgement wait of exactly 1 second; it makes the consumer where it is missing.`;
  }
  const names = consumers.map(
    ({ name, lane }) => `\`${name}\` for the lane \`${lane}\` (subject \`${subject}.${lane}\`)`,
  );
  return `The program reads \`${stream}\` through durable pull consumers, each with a filter for one subject, explicit acknowledgement and an acknowledgement wait of exactly 1 second: ${names.join(", ")}. It makes those that are missing.`;
}
