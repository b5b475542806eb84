/** The tests that a Python source holds, found by reading it line by line and never by running it. */

/** A test by what follows the file in its id, and its line from 1. */
export interface NamedTest {
  readonly name: string;
  readonly line: number;
}

/**
 * `Class.test_method` of each test in a source, with its line from 1. Only methods that stand directly in a class in
 * column 0 count; a test that is inherited or made at run time is not seen.
 */
export function unittestNames(text: string): readonly NamedTest[] {
  const names: NamedTest[] = [];
  let inClass: string | null = null;
  let indent: number | null = null;
  for (const { line, number } of codeLines(text)) {
    const depth = /^\s*/.exec(line)?.[0].length ?? 0;
    const opened = /^class\s+([A-Za-z_]\w*)\s*\(([^)]*)\)?/.exec(line);
    if (opened) {
      const isTestClass = /\bTestCase\b/.test(opened[2] ?? "") || /^Test/.test(opened[1] ?? "");
      inClass = isTestClass ? (opened[1] ?? null) : null;
      indent = null;
      continue;
    }
    if (depth === 0 && !/^[)\]}]/.test(line)) inClass = null;
    if (inClass === null) continue;
    indent ??= depth;
    const method = /^\s+(?:async\s+)?def\s+(test\w*)\s*\(/.exec(line);
    if (method && depth === indent) names.push({ name: `${inClass}.${method[1]}`, line: number });
  }
  return names;
}

/** The lines of a Python source that hold code: no blank ones, no comments, nothing inside a triple-quoted string. */
function* codeLines(text: string): Generator<{ readonly line: string; readonly number: number }> {
  let quote: string | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    const isInside = quote !== null;
    for (const [mark] of line.matchAll(/"""|'''/g)) {
      if (quote === null) quote = mark;
      else if (quote === mark) quote = null;
    }
    if (!isInside && line.trim() !== "" && !/^\s*#/.test(line)) yield { line, number: index + 1 };
  }
}

/**
 * `test_function`, or `TestClass::test_method`, of each test that pytest would collect, with its line from 1: functions
 * in column 0, and methods directly in a class in column 0 whose name starts with `Test`.
 */
export function pytestNames(text: string): readonly NamedTest[] {
  const names: NamedTest[] = [];
  let inClass: string | null = null;
  let indent: number | null = null;
  for (const { line, number } of codeLines(text)) {
    const depth = /^\s*/.exec(line)?.[0].length ?? 0;
    const opened = /^class\s+(Test\w*)/.exec(line);
    if (opened) {
      inClass = opened[1] ?? null;
      indent = null;
      continue;
    }
    if (depth === 0 && !/^[)\]}@]/.test(line)) inClass = null;
    const defined = /^\s*(?:async\s+)?def\s+(test\w*)\s*\(/.exec(line);
    if (depth === 0 && defined) names.push({ name: defined[1] ?? "", line: number });
    if (depth === 0 || inClass === null) continue;
    indent ??= depth;
    if (defined && depth === indent) names.push({ name: `${inClass}::${defined[1]}`, line: number });
  }
  return names;
}
