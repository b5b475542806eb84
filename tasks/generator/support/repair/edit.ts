/** Scripts that change a program: exact pieces of text, each replaced once, so that a script that no longer fits fails. */
import type { Edit, Language } from "./language.ts";

/** A shell script that makes the edits in order, with the language's own interpreter. */
export function editScript(language: Pick<Language, "editProgram">, edits: readonly Edit[]): string {
  return `#!/bin/bash\nset -eu\ncd /app\n${language.editProgram(edits)}`;
}
