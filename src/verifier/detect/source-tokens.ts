/**
 * Cuts a source into tokens, so that a rule about code never reads a comment or the inside of a text. Python,
 * JavaScript, SQL and shell share what matters here: words, numbers, texts, punctuation, and where a line begins.
 */

/** One token with its line, from 1. */
export interface Token {
  readonly kind: "word" | "number" | "text" | "mark";
  /** Of a text its content without quotes. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
  /** Characters before it on its line; of a line's first token its indentation. */
  readonly column: number;
  readonly isFirst: boolean;
}

/** Languages that are read. */
export type Language = "python" | "javascript" | "c" | "sql" | "shell";

const TOKENS_MAX = 200_000;

interface Lexicon {
  readonly comment: RegExp;
  readonly text: RegExp;
  readonly word: RegExp;
}

const PLAIN_WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const STRINGS = `"(?:\\\\[\\s\\S]|[^"\\\\\\n])*"?|'(?:\\\\[\\s\\S]|[^'\\\\\\n])*'?`;

const LEXICONS: Readonly<Record<Language, Lexicon>> = {
  python: {
    comment: /#[^\n]*/y,
    text: new RegExp(
      `[rRbBuUfF]{0,3}(?:"""(?:\\\\[\\s\\S]|[^\\\\])*?(?:"""|$)|'''(?:\\\\[\\s\\S]|[^\\\\])*?(?:'''|$)|${STRINGS})`,
      "y",
    ),
    word: PLAIN_WORD,
  },
  javascript: {
    comment: /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y,
    text: new RegExp(`\`(?:\\\\[\\s\\S]|[^\`\\\\])*\`?|${STRINGS}`, "y"),
    word: PLAIN_WORD,
  },
  c: {
    comment: /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y,
    text: new RegExp(`\`(?:\\\\[\\s\\S]|[^\`\\\\])*\`?|${STRINGS}`, "y"),
    word: PLAIN_WORD,
  },
  sql: {
    comment: /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y,
    text: /'(?:''|[^'])*'?|"(?:""|[^"])*"?|`[^`]*`?/y,
    word: PLAIN_WORD,
  },
  shell: {
    comment: /(?<=^|[\s;])#[^\n]*/my,
    text: /"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?/y,
    word: /[^\s;&|<>()"'`$\\]+|\$\w+|\\[\s\S]/y,
  },
};

const SPACE = /[^\S\n]+/y;
const NUMBER = /0[xXoObB][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?|\.\d[\d_]*/y;

/** At most so many tokens, of what is longer its beginning. A text that is never closed ends with its line or file. */
export function tokensOf(source: string, language: Language): Token[] {
  const { comment, text, word } = LEXICONS[language];
  const tokens: Token[] = [];
  let line = 1;
  let lineStart = 0;
  let isFirst = true;
  const take = (pattern: RegExp, at: number): string => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0] ?? "";
  };
  const pass = (taken: string, at: number): number => {
    for (let found = taken.indexOf("\n"); found >= 0; found = taken.indexOf("\n", found + 1)) {
      line += 1;
      lineStart = at + found + 1;
      isFirst = true;
    }
    return at + taken.length;
  };
  for (let at = 0; at < source.length && tokens.length < TOKENS_MAX; ) {
    const blank = take(SPACE, at) || (source[at] === "\n" ? "\n" : "") || take(comment, at);
    if (blank !== "") {
      at = pass(blank, at);
      continue;
    }
    const place = { line, column: at - lineStart, isFirst };
    isFirst = false;
    const string = take(text, at);
    const number = string === "" && language !== "shell" ? take(NUMBER, at) : "";
    const name = string === "" && number === "" ? take(word, at) : "";
    const taken = string || number || name || (source[at] ?? "");
    if (string !== "") tokens.push({ kind: "text", text: unquoted(string), ...place });
    else tokens.push({ kind: number !== "" ? "number" : name !== "" ? "word" : "mark", text: taken, ...place });
    at += taken.length;
    if (taken.includes("\n")) {
      pass(taken, at - taken.length);
      isFirst = false;
    }
  }
  return tokens;
}

function unquoted(text: string): string {
  const body = text.replace(/^[rRbBuUfF]{0,3}(?=["'])/, "");
  const quote = /^(?:"""|'''|["'`])/.exec(body)?.[0] ?? "";
  const end = body.length > quote.length && body.endsWith(quote) ? body.length - quote.length : body.length;
  return body.slice(quote.length, end);
}

/**
 * Where the tokens spell `pattern`: words separated by blanks, each a token's text. `*` stands for any one token and
 * `'text'` for a text whose content is that.
 */
export function places(tokens: readonly Token[], pattern: string): Iterable<Token> {
  const wanted = wantedOf(pattern);
  // Most patterns have a word that the source lacks, and need no search.
  const known = vocabularyOf(tokens);
  return wanted.words.every((word) => known.has(word)) ? spelled(tokens, wanted.parts) : [];
}

function* spelled(tokens: readonly Token[], wanted: readonly string[]): Generator<Token> {
  for (let at = 0; at + wanted.length <= tokens.length; at += 1) {
    const first = tokens[at];
    if (first !== undefined && wanted.every((want, offset) => isSpelled(tokens[at + offset], want))) yield first;
  }
}

interface Wanted {
  readonly parts: readonly string[];
  /** What some token must be. */
  readonly words: readonly string[];
}

/** Patterns are written in this program, or made of names in a source; so many are kept. */
const WANTED_MAX = 1_024;
const wantedKnown = new Map<string, Wanted>();

function wantedOf(pattern: string): Wanted {
  const known = wantedKnown.get(pattern);
  if (known !== undefined) return known;
  const parts = pattern.split(" ");
  const words = parts.filter((part) => part !== "*").map((part) => (part.startsWith("'") ? part.slice(1, -1) : part));
  const wanted = { parts, words };
  if (wantedKnown.size < WANTED_MAX) wantedKnown.set(pattern, wanted);
  return wanted;
}

const vocabularies = new WeakMap<readonly Token[], ReadonlySet<string>>();

function vocabularyOf(tokens: readonly Token[]): ReadonlySet<string> {
  let known = vocabularies.get(tokens);
  if (known === undefined) {
    known = new Set(tokens.map(({ text }) => text));
    vocabularies.set(tokens, known);
  }
  return known;
}

function isSpelled(token: Token | undefined, want: string): boolean {
  if (token === undefined) return false;
  if (want === "*") return true;
  if (want.startsWith("'")) return token.kind === "text" && token.text === want.slice(1, -1);
  return token.kind !== "text" && token.text === want;
}

/** The language of a file by its name; null for one that is none of these. */
export function languageOf(path: string): Language | null {
  if (/\.pyw?$/.test(path)) return "python";
  if (/\.[cm]?[jt]sx?$/.test(path)) return "javascript";
  if (/\.(?:c|h|cc|cpp|hpp|rs|go)$/.test(path)) return "c";
  if (/\.sql$/.test(path)) return "sql";
  return /\.(?:ba|z)?sh$/.test(path) ? "shell" : null;
}
