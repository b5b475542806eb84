/** The instruction of a repair task: a bug report that says what was seen and what is expected, and never where. */
import type { Random } from "../../../../src/core/random.ts";
import type { Language } from "./language.ts";
import type { Fault, World } from "./world.ts";

const OPENINGS = [
  "We use the library in `/app` every day, and since the last release some of its answers are wrong.",
  "A user of the library in `/app` has sent us this report.",
  "Our team took over the library in `/app`, and its users have complained.",
  "Before the next release of the library in `/app` we need the following mended.",
] as const;

const RULES = [
  "`/app/README.md` says how the library must behave, edges included. Where the program and that file disagree, the program is wrong.",
  "The rules of the library are in `/app/README.md`. They are right, and they count for every input they cover.",
  "What the library promises is written in `/app/README.md`. Hold the program to it, not only to the examples here.",
] as const;

/** Reads well with placeholders still in it. */
export function instructionOf(
  world: World,
  faults: readonly Fault[],
  language: Language,
  packageName: string,
  surface: Random,
): string {
  const random = surface.fork("report");
  const reports = faults.map(({ symptom }) => symptom);
  const [only = ""] = reports;
  const body =
    reports.length === 1
      ? only
      : `There ${reports.length === 2 ? "are two complaints" : "are three complaints"}, with a cause each:\n\n${reports.map((text, index) => `${index + 1}. ${text}`).join("\n\n")}`;
  return `${random.pick(OPENINGS)} It is a ${world.title}, written in ${language.title}: the package \`/app/${packageName}\`.

${body}

${random.pick(RULES)}

Mend ${reports.length === 1 ? "the cause of this, so that it is right for every input that the rules cover" : "the causes of these, so that all of it is right for every input that the rules cover"}.

- Some of what is wrong shows in the visible suite. Run it with \`${language.visibleCommand}\`.
- The repository's own tests, in \`/app/tests\`, pass today and must stay as they are. Run them with \`${language.ownCommand}\`.
- Keep the names, parameters and files of the package, and everything else that works. Other code relies on it.
- Only the folder \`/app/${packageName}\` is graded, with other inputs than the visible ones. Nothing can be installed; ${language.title}'s standard library is all there is.
`;
}
