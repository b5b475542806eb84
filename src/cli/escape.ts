/**
 * Text of a policy, a task or a file is hostile until shown to be plain: a control sequence could clear the screen,
 * set the title or fake a result. Everything of theirs passes here before it reaches a terminal.
 */

/** Controls (not newline and tab), bidirectional marks, invisible separators and halves of surrogate pairs. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Cs}/gu;

/** The text with each unsafe character spelled out, `\x1b` or `\u{202e}`; newlines and tabs stay. */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** The same on one line: newlines and tabs are spelled out too. */
export function printableLine(text: string): string {
  return printable(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** JSON of a value on one line, with the same characters as escapes: a reader gets the same text, a terminal obeys none. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
