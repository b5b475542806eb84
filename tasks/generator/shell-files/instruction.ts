/** The job in prose: every rule that a hidden test asserts, numbered, and nothing of how to do it. */
import type { Job, Place, Select } from "./job.ts";

export function instructionOf(job: Job): string {
  const { script, source, target, reportName, exitCode } = job;
  const rules = [
    `Every regular file in the tree below \`SOURCE\` is looked at, at any depth. ${hiddenRule(job)} Symbolic links are ignored: neither copied nor followed. Nothing in \`SOURCE\` may be changed.`,
    ...selectRule(job.select),
    ...dedupRule(job),
    `A kept file is copied to \`TARGET/FOLDER/NAME\`. ${placeRule(job.place, job.other)}`,
    renameRule(job),
    collisionRule(job),
    reportRule(job),
    "Names may hold spaces, tabs, newlines, quotes, backslashes, glob characters, leading dashes and any UTF-8.",
    "When the script is run again with the same `SOURCE` and `TARGET`, the result is the same as after the first run.",
    `It exits with 0 when all went well. When \`SOURCE\` is not a folder it writes a message to standard error, exits with ${exitCode} and makes nothing.`,
  ];
  return `Write a bash script \`/app/${script}.sh\`, and use it to file the tree \`/app/${source}\` into \`/app/${target}\`.

The script is called as \`bash /app/${script}.sh SOURCE TARGET\`, with two absolute paths of folders. \`SOURCE\` exists;
\`TARGET\` may not exist yet. It must work for any \`SOURCE\`, as follows. *Byte order* is the order of \`LC_ALL=C sort\`,
and files are always taken in the byte order of their paths below \`SOURCE\`.

${rules.map((rule, index) => `${index + 1}. ${rule}`).join("\n")}

Then run it: \`bash /app/${script}.sh /app/${source} /app/${target}\`. \`/visible/example.txt\` shows what \`/app/${target}\`
then holds, with each NUL byte of \`${reportName}\` written as a line end. Both the script and the folder \`/app/${target}\` are graded;
the script also on other trees of up to 300 files, within 40 seconds each, by another user who may not write to \`SOURCE\`.
bash, python3, the core utilities, find, grep, sed and awk are there.
`;
}

function hiddenRule({ takesHidden }: Job): string {
  return takesHidden
    ? "Hidden files, whose names begin with a dot, and files in hidden folders are looked at too."
    : "Hidden files, whose names begin with a dot, and everything in hidden folders below `SOURCE` are left out.";
}

function selectRule(select: Select): readonly string[] {
  switch (select.kind) {
    case "all":
      return [];
    case "extensions":
      return [
        `Only files with one of the extensions ${select.of.map((one) => `\`${one}\``).join(", ")} are filed, in upper or lower case (ASCII letters only). The extension is what stands after the last dot of the name; a name with no dot, only one at its start, or one at its end has none.`,
      ];
    case "bytes-min":
      return [`Only files of at least ${select.bytes} bytes are filed.`];
    case "first-line":
      return [
        `Only files whose first line holds the text \`${select.word}\`, in capitals as it stands here, are filed. The first line ends at the first newline byte, or with the file.`,
      ];
  }
}

function dedupRule({ dedup }: Job): readonly string[] {
  if (dedup === "none") return [];
  return [
    `Of several such files with equal content only one is kept: the one whose path below \`SOURCE\` comes ${dedup} in byte order. The others are not copied.`,
  ];
}

function placeRule(place: Place, other: string): string {
  switch (place.kind) {
    case "extension":
      return `\`FOLDER\` is what stands after the last dot of the file's own name, in lower case (ASCII letters only); \`${other}\` for a name with no dot, only one at its start, or one at its end.`;
    case "letter":
      return `\`FOLDER\` is the first byte of the file's own name in lower case when that is an ASCII letter, else \`${other}\`.`;
    case "size":
      return `\`FOLDER\` is \`small\` for a file of fewer than ${place.small} bytes, \`large\` for one of at least ${place.large} bytes, and \`medium\` for any other.`;
    case "folder":
      return `\`FOLDER\` is the first folder of the file's path below \`SOURCE\`; \`${other}\` for a file that lies in \`SOURCE\` itself.`;
    case "field":
      return `\`FOLDER\` is taken from the file's first line: when it is exactly \`${place.field}: VALUE\`, with a VALUE of one or more lower-case ASCII letters and nothing after it, the VALUE; else \`${other}\`.`;
  }
}

function renameRule({ rename }: Job): string {
  switch (rename) {
    case "none":
      return "`NAME` is the file's own name, as it is.";
    case "lower":
      return "`NAME` is the file's own name with every ASCII capital letter in lower case.";
    case "underscores":
      return "`NAME` is the file's own name with every space turned into an underscore; other white space stays.";
    case "numbered":
      return "`NAME` is `NNNN-` and the file's own name, where NNNN counts the kept files from 0001 on, with four digits.";
    case "folder-prefix":
      return "`NAME` is the name of the folder that the file lies in, a `-` and the file's own name; for a file in `SOURCE` itself, its own name alone.";
  }
}

function collisionRule({ collision }: Job): string {
  const head = "Should another kept file have that place already, ";
  switch (collision) {
    case "suffix":
      return `${head}the new one gets the first free name of \`NAME.2\`, \`NAME.3\` and so on in the same folder.`;
    case "prefix":
      return `${head}the new one gets the first free name of \`2-NAME\`, \`3-NAME\` and so on in the same folder.`;
    case "larger":
      return `${head}the larger of the two (in bytes) has it in the end; of two of equal size the one that was there. The other one is left out.`;
  }
}

function reportRule({ report, reportName, collision }: Job): string {
  const forms = {
    "path-size": "its path below `TARGET`, a tab, and its size in bytes",
    "size-path": "its size in bytes, one space, and its path below `TARGET`",
    "hash-path": "the SHA-256 of its content in lower-case hex, two spaces, and its path below `TARGET`",
    "path-origin": "its path below `TARGET`, a tab, and its path below `SOURCE`",
  };
  const order =
    collision === "larger"
      ? "Records are in the order in which their places were first taken."
      : "Records are in the order in which the files were taken.";
  return `\`TARGET/${reportName}\` holds one record for each file that is there in the end: ${forms[report]}; a NUL byte ends each record. ${order} With no files it is empty, and it is there.`;
}
