/** Working modules that have nothing to do with a fault, each with its test: what a reader of a real repository meets. */
import type { Random } from "../../../../src/core/random.ts";

/** `NAME` is the function, `WORD` a word, `NUMBER` a number, `MODULE` where a test finds it. */
export interface Filler {
  readonly source: string;
  readonly test: string;
}

const FIRST = [
  "plain",
  "quick",
  "wide",
  "short",
  "round",
  "spare",
  "outer",
  "early",
  "local",
  "daily",
  "north",
  "paper",
];
const LAST = [
  "labels",
  "marks",
  "steps",
  "shelves",
  "codes",
  "notes",
  "pages",
  "tables",
  "parts",
  "rows",
  "trays",
  "lanes",
];

/** `count` files: sources, and a test for each second one. */
export function fillers(
  bank: readonly Filler[],
  count: number,
  random: Random,
  places: (name: string) => { readonly source: string; readonly test: string; readonly module: string },
): Readonly<Record<string, string>> {
  const names = random.shuffle(FIRST.flatMap((first) => LAST.map((last) => `${first}_${last}`)));
  const files: Record<string, string> = {};
  for (const name of names) {
    if (Object.keys(files).length >= count) return files;
    const { source, test, module } = places(name);
    const filler = random.pick(bank);
    const number = String(random.integer(3, 40));
    const filled = (text: string): string =>
      text.replaceAll("NAME", name).replaceAll("NUMBER", number).replaceAll("MODULE", module);
    files[source] = filled(filler.source);
    files[test] = filled(filler.test);
  }
  return files;
}
