/**
 * The vocabulary of the family for a small model: the characters its text is made of, and the words and pieces of Python
 * that come up so often that each is one token.
 */

const CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789 ()[]{}:,.+-*/%<>=!'\"_WP";

const FIXED = [
  "Write a Python expression over the list x: ",
  "Write a Python expression over the text x: ",
  "Write a Python expression over the number x: ",
  ", ",
];

const ENGLISH = [
  "keep the ",
  " numbers",
  "even",
  "odd",
  " above ",
  " below ",
  "multiply ",
  "divide by ",
  " rounding down",
  "each",
  "by ",
  "add ",
  " to each",
  "square each",
  "negate each",
  "sort",
  " from high to low",
  "remove ",
  "duplicates",
  " and sort",
  "reverse",
  "take the ",
  "skip the ",
  "drop the ",
  "first ",
  "last ",
  "sum",
  "count ",
  "them",
  "largest (0 if none)",
  "smallest (0 if none)",
  "remainder ",
  "absolute value",
  "list its digits",
  "make it upper case",
  "every ",
  "repeat it ",
  " times",
  "take its length",
];

const PYTHON = [
  "[i",
  " for i in ",
  " if i",
  "%2==",
  "sorted(",
  "set(",
  "sum(",
  "len(",
  "max(",
  "min(",
  ",default=0)",
  "abs(",
  "int(",
  "str(",
  "[::-1]",
  ".upper()",
  ".replace('",
  "','')",
  ".count('",
  ".strip('",
  "')",
];

export const ALPHABET: { readonly characters: string; readonly keywords: readonly string[] } = {
  characters: CHARACTERS,
  keywords: [...FIXED, ...ENGLISH, ...PYTHON],
};
