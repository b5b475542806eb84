/** The tests that a file of node:test holds, found by reading it line by line and never by running it. */
import type { NamedTest } from "./python-tests.ts";

const CALL = /^(\s*)(?:await\s+)?(describe|suite|test|it)\(\s*(["'`])((?:(?!\3).)+)\3/;

/** `SUITE > TEST` of each test with a literal title; a suite is what stands less indented before it. */
export function nodeTestNames(text: string): readonly NamedTest[] {
  const names: NamedTest[] = [];
  const suites: { readonly indent: number; readonly title: string }[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const [, space, kind, , title = ""] = CALL.exec(line) ?? [];
    if (kind === undefined) continue;
    const indent = space?.length ?? 0;
    while ((suites.at(-1)?.indent ?? -1) >= indent) suites.pop();
    if (kind === "describe" || kind === "suite") suites.push({ indent, title });
    else names.push({ name: [...suites.map((suite) => suite.title), title].join(" > "), line: index + 1 });
  }
  return names;
}
