/** The steps that take a number or a text. */
import { integer, modulo, type Operation, onNumber, onText, slice } from "./operation.ts";

const NONE = [""];
const SMALL = ["2", "3", "4", "5"];
const DIGITS = ["2", "3", "4", "5", "6", "7", "8", "9"];
const LETTERS = ["a", "e", "o", "s", "t"];

const digitsOf = (value: number): number[] => [...String(value)].map(Number);

export const NUMBER_OPERATIONS: readonly Operation[] = [
  {
    name: "plus",
    from: "number",
    to: "number",
    choices: DIGITS,
    phrase: (k) => `add ${k}`,
    python: (e, k) => `(${e}+${k})`,
    evaluate: onNumber((value, k) => value + k),
    alternative: (e, k) => `sum([${e}, ${k}])`,
    trap: null,
  },
  {
    name: "times",
    from: "number",
    to: "number",
    choices: DIGITS,
    phrase: (k) => `multiply by ${k}`,
    python: (e, k) => `(${e}*${k})`,
    evaluate: onNumber((value, k) => integer(value * k)),
    alternative: (e, k) => `sum([${e}] * ${k})`,
    trap: { weight: 1, python: (e, k) => `(${e}+${k})`, evaluate: onNumber((value, k) => value + k) },
  },
  {
    name: "remainder",
    from: "number",
    to: "number",
    choices: DIGITS,
    phrase: (k) => `take the remainder by ${k}`,
    python: (e, k) => `(${e}%${k})`,
    evaluate: onNumber((value, k) => modulo(value, k)),
    alternative: (e, k) => `divmod(${e}, ${k})[1]`,
    trap: {
      weight: 3,
      python: (e, k) => `(${e}//${k})`,
      evaluate: onNumber((value, k) => integer(Math.floor(value / k))),
    },
  },
  {
    name: "divide",
    from: "number",
    to: "number",
    choices: DIGITS,
    phrase: (k) => `divide by ${k} rounding down`,
    python: (e, k) => `(${e}//${k})`,
    evaluate: onNumber((value, k) => integer(Math.floor(value / k))),
    alternative: (e, k) => `divmod(${e}, ${k})[0]`,
    trap: {
      weight: 3,
      python: (e, k) => `int(${e}/${k})`,
      evaluate: onNumber((value, k) => integer(Math.trunc(value / k))),
    },
  },
  {
    name: "absolute",
    from: "number",
    to: "number",
    choices: NONE,
    phrase: () => "take the absolute value",
    python: (e) => `abs(${e})`,
    evaluate: onNumber((value) => Math.abs(value)),
    alternative: (e) => `max(${e}, -(${e}))`,
    trap: null,
  },
  {
    name: "digits",
    from: "number",
    to: "list",
    choices: NONE,
    phrase: () => "list its digits",
    python: (e) => `[int(i) for i in str(abs(${e}))]`,
    evaluate: onNumber((value) => digitsOf(Math.abs(value))),
    alternative: (e) => `list(map(int, str(${e}).strip("-")))`,
    trap: {
      weight: 3,
      python: (e) => `[int(i) for i in str(${e})]`,
      evaluate: onNumber((value) => (value < 0 ? null : digitsOf(value))),
    },
  },
];

export const TEXT_OPERATIONS: readonly Operation[] = [
  {
    name: "upper",
    from: "text",
    to: "text",
    choices: NONE,
    phrase: () => "make it upper case",
    python: (e) => `${e}.upper()`,
    evaluate: onText((value) => value.toUpperCase()),
    alternative: (e) => `"".join(map(str.upper, ${e}))`,
    trap: null,
  },
  {
    name: "text-reverse",
    from: "text",
    to: "text",
    choices: NONE,
    phrase: () => "reverse",
    python: (e) => `${e}[::-1]`,
    evaluate: onText((value) => [...value].reverse().join("")),
    alternative: (e) => `"".join(reversed(${e}))`,
    trap: null,
  },
  {
    name: "text-first",
    from: "text",
    to: "text",
    choices: SMALL,
    phrase: (k) => `take the first ${k}`,
    python: (e, k) => `${e}[:${k}]`,
    evaluate: onText((value, k) => slice(value, null, Number(k))),
    alternative: (e, k) => `${e}[0:${k}:1]`,
    trap: {
      weight: 5,
      python: (e, k) => `${e}[:${Number(k) - 1}]`,
      evaluate: onText((value, k) => slice(value, null, Number(k) - 1)),
    },
  },
  {
    name: "text-last",
    from: "text",
    to: "text",
    choices: SMALL,
    phrase: (k) => `take the last ${k}`,
    python: (e, k) => `${e}[-${k}:]`,
    evaluate: onText((value, k) => slice(value, -Number(k), null)),
    alternative: (e, k) => `${e}[::-1][:${k}][::-1]`,
    trap: {
      weight: 5,
      python: (e, k) => `${e}[${k}:]`,
      evaluate: onText((value, k) => slice(value, Number(k), null)),
    },
  },
  {
    name: "remove-letter",
    from: "text",
    to: "text",
    choices: LETTERS,
    phrase: (letter) => `remove every ${letter}`,
    python: (e, letter) => `${e}.replace('${letter}','')`,
    evaluate: onText((value, letter) => value.replaceAll(letter, "")),
    alternative: (e, letter) => `"".join(c for c in ${e} if c != "${letter}")`,
    trap: {
      weight: 3,
      python: (e, letter) => `${e}.strip('${letter}')`,
      evaluate: onText((value, letter) => stripLetter(value, letter)),
    },
  },
  {
    name: "repeat",
    from: "text",
    to: "text",
    choices: ["2", "3"],
    phrase: (k) => `repeat it ${k} times`,
    python: (e, k) => `(${e}*${k})`,
    evaluate: onText((value, k) => value.repeat(Number(k))),
    alternative: (e, k) => `"".join([${e}] * ${k})`,
    trap: null,
  },
  {
    name: "length",
    from: "text",
    to: "number",
    choices: NONE,
    phrase: () => "take its length",
    python: (e) => `len(${e})`,
    evaluate: onText((value) => value.length),
    alternative: (e) => `sum(1 for c in ${e})`,
    trap: null,
  },
  {
    name: "count-letter",
    from: "text",
    to: "number",
    choices: LETTERS,
    phrase: (letter) => `count every ${letter}`,
    python: (e, letter) => `${e}.count('${letter}')`,
    evaluate: onText((value, letter) => value.split(letter).length - 1),
    alternative: (e, letter) => `sum(c == "${letter}" for c in ${e})`,
    trap: null,
  },
];

function stripLetter(value: string, letter: string): string {
  let from = 0;
  let to = value.length;
  while (from < to && value[from] === letter) from += 1;
  while (to > from && value[to - 1] === letter) to -= 1;
  return value.slice(from, to);
}
