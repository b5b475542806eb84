/**
 * What a judge is shown of the graded work, made harmless: artifacts and test output as text without comments, markup,
 * invisible characters and lines that give orders. Made by the graded party, it is data; whatever only a reader would
 * follow, and no program would run, is taken out. The type has no field for what the policy thought.
 */

/** One piece of evidence. `label` is the platform's, never a name the graded party chose. */
export interface EvidencePiece {
  readonly label: string;
  /** Extension of a file, with its dot; empty for an answer and for test output. */
  readonly extension: string;
  readonly text: string;
}

const PIECE_CHARACTERS_MAX = 24_000;
const ALL_CHARACTERS_MAX = 96_000;
/** Lines over which an order may be broken. */
const ORDER_LINES_MAX = 3;
/** Of a line, and of one piece before it is cleaned. Every pattern below has bounded repeats, so that no text can make cleaning slow. */
const LINE_CHARACTERS_MAX = 2_000;
const TEXT_CHARACTERS_MAX = 48_000;

/** What has no shape of its own: zero-width, direction, tag and filler characters. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** All but tab and line feed. */
const CONTROL = /[^\P{Cc}\n\t]/gu;

/** A reader is spoken to, or the grading is. Evidence loses such a line; a program has no use for it. */
const ORDER = new RegExp(
  [
    String.raw`\b(ignore|disregard|forget|override)\b.{0,60}\b(instruction|question|rule|rubric|above|previous|prior|prompt)`,
    String.raw`\b(answer|reply|respond|say|vote|mark|score|grade|rate)\b.{0,40}\b(yes|true|full|pass(ed)?|correct|satisfied|maximum|perfect|100)\b`,
    String.raw`\byou(r| are| must| should| will)\b.{0,60}\b(judge|grader|evaluator|reviewer|rubric|verdict|assistant|model|answer|grade)\b`,
    String.raw`\b(judge|grader|evaluator|reviewer|assistant|system|developer|admin|user)\s{0,8}(note|message|prompt|override|instructions?)?\s{0,8}[:>\]]`,
    String.raw`\b(quote|cite)\s{1,8}(the|this|that|these|as|from|span|exactly)\b`,
    String.raw`\b(please|must|should)\s{1,8}(quote|cite|answer|vote|confirm)\b`,
    String.raw`\b(all|every|each)\s+(of the\s+)?(items?|questions?|criteria|checks?)\b.{0,60}\b(yes|met|satisfied|pass(ed)?|true|fulfilled)\b`,
    String.raw`\b(this|the) (solution|work|submission|code|answer)\b.{0,60}\b(satisf|fulfil|meets|deserves|passes|is (correct|complete|perfect))`,
  ].join("|"),
  "i",
);

/** The pieces as a judge may see them, in order, each cut to its bound and all of them to theirs. */
export function cleanEvidence(pieces: readonly EvidencePiece[]): EvidencePiece[] {
  let left = ALL_CHARACTERS_MAX;
  let unread = 2 * ALL_CHARACTERS_MAX;
  return pieces.map((piece) => {
    const read = piece.text.slice(0, Math.min(TEXT_CHARACTERS_MAX, unread));
    unread -= read.length;
    const text = cleanText(read, piece.extension).slice(0, Math.min(PIECE_CHARACTERS_MAX, left));
    left -= text.length;
    return { ...piece, text };
  });
}

/** The text in one plain form, without what only a reader would follow. */
export function cleanText(text: string, extension: string): string {
  const plain = text
    .slice(0, TEXT_CHARACTERS_MAX)
    .replaceAll(INVISIBLE, "")
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(CONTROL, "");
  const lines = withoutMarkup(withoutComments(plain, extension), extension).split("\n");
  const kept = withoutOrders(lines.map((line) => line.slice(0, LINE_CHARACTERS_MAX).trimEnd()));
  return kept
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

/** Leaves out lines that are an order, then those that are one together with their neighbours. */
function withoutOrders(lines: readonly string[]): readonly string[] {
  let left = lines;
  for (let width = 1; width <= ORDER_LINES_MAX; width += 1) {
    const read = left.map(folded);
    const isPart = new Set<number>();
    for (const index of read.keys()) {
      if (!ORDER.test(read.slice(index, index + width).join(" "))) continue;
      for (let part = 0; part < width; part += 1) isPart.add(index + part);
    }
    left = left.filter((_, index) => !isPart.has(index));
  }
  return left;
}

/** Letters of other scripts that look like Latin ones, as these; an order is one in any of them. */
const LOOKALIKES: Readonly<Record<string, string>> = Object.fromEntries(
  [..."аеорсухіјѕԁһԛԝɡⅼɑοανρτυχι"].map((letter, index) => [letter, "aeopcyxijsdhqwglaoavptuxi"[index] ?? letter]),
);

function folded(line: string): string {
  return line
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^\p{ASCII}]/gu, (letter) => LOOKALIKES[letter.toLowerCase()] ?? letter)
    .replaceAll(/[_*`~"'\\]+/g, " ");
}

const HASH = [".py", ".sh", ".rb", ".pl", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".r", ".mk"];
const SLASH = [".js", ".mjs", ".cjs", ".ts", ".c", ".h", ".cc", ".cpp", ".go", ".java", ".rs", ".css", ".php", ".kt"];
const DASH = [".sql", ".lua", ".hs"];

/** A text literal is matched first, so that a mark within it begins no comment. */
const LITERAL = String.raw`"(?:[^"\\\n]|\\.){0,200}"|'(?:[^'\\\n]|\\.){0,200}'`;

function withoutComments(text: string, extension: string): string {
  const marks = [
    HASH.includes(extension) ? String.raw`#[^\n]*|"""[\s\S]*?(?:"""|$(?![\s\S]))|'''[\s\S]*?(?:'''|$(?![\s\S]))` : "",
    SLASH.includes(extension) ? String.raw`\/\/[^\n]*` : "",
    DASH.includes(extension) ? String.raw`--[^\n]*` : "",
    SLASH.includes(extension) || DASH.includes(extension) ? String.raw`\/\*[\s\S]*?(?:\*\/|$(?![\s\S]))` : "",
  ].filter((mark) => mark !== "");
  if (marks.length === 0) return text;
  const comment = new RegExp(`(${marks.join("|")})|${LITERAL}`, "gm");
  return text.replaceAll(comment, (whole: string, found: string | undefined) => (found === undefined ? whole : ""));
}

const CODE = [...HASH, ...SLASH, ...DASH];

/** Comments and tags of markup; in code only what is a comment there or the name of a role, for `<` is an operator. */
function withoutMarkup(text: string, extension: string): string {
  const bare = text
    .replaceAll(/<!--[\s\S]*?(?:-->|$(?![\s\S]))/g, "")
    .replaceAll(/<\|[^|>\n]{0,64}\|>|\[\/?INST\]|<<\/?SYS>>/gi, "")
    .replaceAll(
      /<\/?\s{0,8}(system|user|assistant|developer|human|instructions?|prompt|data|end)\b[^>\n]{0,200}>/gi,
      "",
    );
  if (CODE.includes(extension)) return bare;
  return bare
    .replaceAll(/<(script|style|template|noscript)\b[\s\S]*?(?:<\/\1\s*>|$(?![\s\S]))/gi, "")
    .replaceAll(/<\/?[a-z][^<>]*>/gi, "")
    .replaceAll(/!?\[([^[\]\n]{0,200})\]\([^)\n]{0,400}\)/g, "$1")
    .replaceAll(/^\[[^\]\n]+\]:.*$/gm, "");
}
