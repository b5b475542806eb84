/**
 * Two reversible tokenizers: `bytes` (256 ids) and `chars` (a declared character set). Special tokens follow, then
 * declared keyword tokens. There are no merges, so a token sequence can be checked by eye. Encoding text never gives a
 * special id; the hash covers everything that decides what an id means.
 */
import { createHash } from "node:crypto";
import { Failure } from "../core/errors.ts";
import { canonicalJson } from "../core/json.ts";
import { SPECIAL_TOKENS, type SpecialToken, type Tokenizer } from "../core/policy.ts";

const CHARACTERS_MAX = 96;
const KEYWORDS_MAX = 64;

/** 256 byte ids (UTF-8), then the special tokens: 263 ids. Bytes that are not UTF-8 decode to the replacement sign. */
export function bytesTokenizer(): Tokenizer {
  return tokenizer({ kind: "bytes", characters: "", keywords: [] });
}

export interface CharsOptions {
  /** The characters text may have, 1 to 96, each once. */
  readonly characters: string;
  /** Texts of their own token, at most 64, each of 2 characters or more; encoding takes the longest that fits. */
  readonly keywords?: readonly string[];
}

/** One id for each declared character, the special tokens, then the keywords. Throws `config_invalid`. */
export function charsTokenizer(options: CharsOptions): Tokenizer {
  const { characters, keywords = [] } = options;
  const declared = Array.from(characters);
  const known = new Set(declared);
  if (declared.length < 1 || declared.length > CHARACTERS_MAX) {
    refuse(`The tokenizer's characters must be 1 to ${CHARACTERS_MAX}, not ${declared.length}.`);
  }
  if (known.size !== declared.length) refuse("The tokenizer's characters name one character twice; remove the second.");
  if (keywords.length > KEYWORDS_MAX) {
    refuse(`The tokenizer declares ${keywords.length} keywords; at most ${KEYWORDS_MAX} are allowed.`);
  }
  if (new Set(keywords).size !== keywords.length) refuse("The tokenizer's keywords name one keyword twice.");
  for (const keyword of keywords) {
    const outside = Array.from(keyword).find((character) => !known.has(character));
    if (outside !== undefined) refuse(`Keyword ${show(keyword)} has ${show(outside)}, which is no declared character.`);
    if (Array.from(keyword).length < 2) refuse(`Keyword ${show(keyword)} must have 2 characters or more.`);
  }
  return tokenizer({ kind: "chars", characters, keywords: [...keywords] });
}

/** The tokenizer that `toJson` described. Throws `config_invalid` when it describes none. */
export function tokenizerFromJson(json: ReturnType<Tokenizer["toJson"]>): Tokenizer {
  return json.kind === "bytes" ? bytesTokenizer() : charsTokenizer(json);
}

function tokenizer(json: ReturnType<Tokenizer["toJson"]>): Tokenizer {
  const base = json.kind === "bytes" ? 256 : Array.from(json.characters).length;
  const size = base + SPECIAL_TOKENS.length + json.keywords.length;
  const special = Object.fromEntries(SPECIAL_TOKENS.map((name, index) => [name, base + index])) as Record<
    SpecialToken,
    number
  >;
  const sha256 = createHash("sha256")
    .update(canonicalJson({ ...json, special: SPECIAL_TOKENS }))
    .digest("hex");
  const { encode, decodeOrdinary } = json.kind === "bytes" ? bytesCodec() : charsCodec(json, base);
  const decode = (ids: Int32Array): string => {
    let text = "";
    for (let start = 0; start < ids.length; ) {
      const id = ids[start] ?? -1;
      if (id < 0 || id >= size)
        refuseRecord(`Token id ${id} at position ${start} is outside this tokenizer (${size} ids).`);
      const index = id - base;
      if (index >= 0) {
        text += index < SPECIAL_TOKENS.length ? SPECIAL_TOKENS[index] : json.keywords[index - SPECIAL_TOKENS.length];
        start += 1;
        continue;
      }
      let end = start + 1;
      while (end < ids.length && (ids[end] ?? -1) >= 0 && (ids[end] ?? base) < base) end += 1;
      text += decodeOrdinary(ids.subarray(start, end));
      start = end;
    }
    return text;
  };
  return { kind: json.kind, size, sha256, special, encode, decode, toJson: () => json };
}

interface Codec {
  readonly encode: (text: string) => Int32Array;
  /** Ids of bytes or characters only. */
  readonly decodeOrdinary: (ids: Int32Array) => string;
}

function bytesCodec(): Codec {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    encode: (text) => {
      if (!text.isWellFormed()) refuseRecord("The text has half of a surrogate pair, which has no UTF-8 bytes.");
      return Int32Array.from(encoder.encode(text));
    },
    decodeOrdinary: (ids) => decoder.decode(Uint8Array.from(ids)),
  };
}

function charsCodec(json: ReturnType<Tokenizer["toJson"]>, base: number): Codec {
  const characters = Array.from(json.characters);
  const ids = new Map(characters.map((character, index) => [character, index]));
  // Longest first, so that the first that fits is the longest.
  const keywords = json.keywords
    .map((text, index) => ({ text, id: base + SPECIAL_TOKENS.length + index }))
    .sort((a, b) => b.text.length - a.text.length);
  const encode = (text: string): Int32Array => {
    const result: number[] = [];
    for (let at = 0; at < text.length; ) {
      const keyword = keywords.find((candidate) => text.startsWith(candidate.text, at));
      const token = keyword?.text ?? String.fromCodePoint(text.codePointAt(at) ?? 0);
      const id = keyword?.id ?? ids.get(token);
      if (id === undefined) {
        refuseRecord(`Character ${show(token)} at position ${at} is outside the tokenizer's declared characters.`);
      }
      result.push(id);
      at += token.length;
    }
    return Int32Array.from(result);
  };
  return { encode, decodeOrdinary: (run) => Array.from(run, (id) => characters[id] ?? "").join("") };
}

function show(text: string): string {
  return JSON.stringify(text);
}

function refuse(message: string): never {
  throw new Failure("config_invalid", message);
}

function refuseRecord(message: string): never {
  throw new Failure("record_invalid", message);
}
