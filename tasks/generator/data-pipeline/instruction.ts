/** The instruction, put together from the rules that hold. */
import { columnsOf, type Spec, WRITTEN } from "./spec.ts";

export function instructionOf(spec: Spec): string {
  const { world } = spec;
  const { things, thing, key, group, amount, when, area } = world;
  return `# Load ${things} into a database

\`/app/incoming\` holds one file for each day with the ${things} that came in on that day. Write \`/app/pipeline.py\`, a program for Python 3
with its standard library alone, that loads such a folder into a SQLite database:

\`\`\`
python3 /app/pipeline.py INCOMING REFERENCE DATABASE
\`\`\`

\`INCOMING\` is a folder like \`/app/incoming\`, \`REFERENCE\` a file like \`/app/reference.csv\`, \`DATABASE\` the file to write. It exits with code 0
and has 30 seconds. Then run it once, so that \`/app/warehouse.db\` holds what \`/app/incoming\` and \`/app/reference.csv\` give. The program is
also run on other folders.

## What lies in the folder

${formatOf(spec)} Files are named by their day, \`YYYY-MM-DD\`, and taken in the order of their names; files with other endings are no data
and are left alone. Lines end with a line feed and are numbered from 1; the header of a CSV file is line 1. Empty lines are skipped. Text is UTF-8.

Each line is one ${thing} with six fields, all of them text: ${columnsOf(world)
    .map((name) => `\`${name}\``)
    .join(", ")}.

- \`${key}\` must not be empty. \`revision\` is 1 to 9 digits.
- \`${when}\` ${whenOf(spec)}
- \`${amount}\` ${amountOf(spec)}
- \`note\` is any text.

Fields are taken exactly as they stand: a space too many makes a time or an amount one that cannot be read.

\`REFERENCE\` is a CSV file with commas and the columns \`${group}\` and \`${area}\`: the ${area} that each ${group} belongs to.

## Lines that are rejected

A line that cannot be used is rejected, with the first reason of this list that holds:

${reasonsOf(spec)}

## Equal keys

${duplicatesOf(spec)}

## The database

What was in the three tables before is gone after a run: the database then depends only on the files that lie in \`INCOMING\` and on
\`REFERENCE\`. With no files the tables are there and empty. The order of rows does not matter.

| table | columns |
|---|---|
| \`${things}\` | \`${key}\`, \`${group}\`, \`day\`, \`at\`, \`${amount}\`, \`note\` |
| \`daily\` | \`day\`, \`${area}\`, \`count\`, \`total\`, \`${spec.extra}\` |
| \`rejects\` | \`file\`, \`line\`, \`reason\` |

The columns stand in this order. \`${amount}\`, \`count\`, \`total\`, \`${spec.extra}\` and \`line\` are integers, all others are texts.

- \`${things}\` has one row for each ${thing} that is kept. \`at\` is its time in UTC, such as \`2024-03-05T21:10:00Z\`, \`day\` the date of that, and
  \`${amount}\` is in hundredths.
- \`daily\` has one row for each day and ${area} with ${things} that are kept: how many, the sum of their \`${amount}\`, and \`${spec.extra}\`, which is
  ${extraOf(spec)}.
- \`rejects\` has one row for each rejected line: the file's name without its folder, the number of the line, the reason.
`;
}

function formatOf({ format, delimiter }: Spec): string {
  const csv = `CSV with the delimiter \`${delimiter}\` and a header line (\`.csv\`), whose fields may be quoted by \`"\`, with \`""\` for a quote inside, and never hold a line feed`;
  const json = "JSON lines (`.jsonl`): an object on each line, in which other names may stand and are left alone";
  if (format === "csv") return `Files are ${csv}.`;
  return format === "jsonl" ? `Files are ${json}.` : `A file is either ${csv}; or ${json}.`;
}

function whenOf({ when, aheadHours }: Spec): string {
  if (when === "epoch") return `is a number of seconds since 1970 in UTC, of 1 to 10 digits, such as ${WRITTEN.epoch}.`;
  if (when === "local") {
    return `is a local time such as ${WRITTEN.local} (day and month of two digits, year of four); clocks there are ${aheadHours} hours ahead of UTC all year. It must be a time that exists.`;
  }
  return `is a time with its offset, such as ${WRITTEN.offset} or \`2024-03-05T21:10:00Z\`, which are the same moment. It must be a time that exists.`;
}

function amountOf({ amount, world }: Spec): string {
  const digits = "digits 0 to 9";
  if (amount === "unit") {
    return `is a number, one space and a unit: \`${world.unit}\`, with at most two digits after a point that has digits on both sides, or \`${world.part}\`, hundredths of it, without a point. \`12.5 ${world.unit}\` and \`1250 ${world.part}\` are the same, 1250 hundredths. A \`-\` may stand in front; nothing but ${digits} is a digit.`;
  }
  const mark = amount === "comma" ? "," : ".";
  return `is a number with at most two digits after a ${amount === "comma" ? "comma" : "point"}, which has digits on both sides or is left out: \`12${mark}5\` is 1250 hundredths, \`12\` is 1200. A \`-\` may stand in front; nothing but ${digits} is a digit.`;
}

function reasonsOf({ unknown, lateDays, duplicates, world }: Spec): string {
  const reasons = [
    "`encoding`: it is not UTF-8",
    "`shape`: it does not have the six fields, or its key or its revision is not as above",
    `\`when\`: its \`${world.when}\` cannot be read`,
    `\`amount\`: its \`${world.amount}\` cannot be read`,
    ...(unknown === "reject" ? [`\`unknown\`: its ${world.group} is not in the reference`] : []),
    ...(lateDays === null
      ? []
      : [
          `\`late\`: the date of its time in UTC lies more than ${lateDays} ${lateDays === 1 ? "day" : "days"} before or after the day of its file`,
        ]),
    ...(duplicates === "conflict" ? ["`conflict`: see below"] : []),
  ];
  const kept =
    unknown === "keep"
      ? `\n\nA ${world.group} that is not in the reference is no reason to reject: its \`${world.area}\` in \`daily\` is \`unknown\`.`
      : "";
  return `${reasons.map((reason, index) => `${index + 1}. ${reason}`).join("\n")}${kept}`;
}

function duplicatesOf({ duplicates, world }: Spec): string {
  const among = `Of lines that are not rejected and have the same \`${world.key}\``;
  switch (duplicates) {
    case "first":
      return `${among}, the first one is kept, in the order of files and lines. The others are left out, and are not rejected.`;
    case "latest":
      return `${among}, the one with the highest \`revision\`, as a number, is kept; of several with that revision the last one, in the order of files and lines. The others are left out, and are not rejected.`;
    case "conflict":
      return `${among}, all are the same if all six fields are, once they have been read; then one is kept and the others are left out, and are not rejected. If any two differ, all of them are rejected as \`conflict\`.`;
  }
}

function extraOf({ extra, world }: Spec): string {
  switch (extra) {
    case "highest":
      return `the highest \`${world.amount}\``;
    case "median":
      return `the median of \`${world.amount}\`, of an even number the lower of the two in the middle`;
    case "different":
      return `how many different values of \`${world.group}\` there are`;
    case "latest":
      return `the \`${world.amount}\` of the row with the latest \`at\`; of several, of the one whose \`${world.key}\` comes last, by code points`;
  }
}
