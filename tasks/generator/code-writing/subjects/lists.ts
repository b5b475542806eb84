/** Subjects that put lists into order: a scheduler, version numbers and a completer of words. */
import type { Subject } from "../subject.ts";

const scheduler: Subject = {
  id: "scheduler",
  language: "python",
  title: "A schedule for one worker",
  entry: "schedule",
  signature: "schedule(jobs: list) -> list",
  text: "Plans jobs for one worker who does one at a time and never breaks one off. A job is `[name, arrival, priority, duration]`, with names all different and whole numbers; the result has `[name, start, end]` for each job that is done, in the order of starting. Whenever the worker is free and jobs have arrived (also at this very time), one of them starts at once.",
  options: [
    {
      name: "HIGH_FIRST",
      choices: [
        { value: "True", rule: "Of the jobs that wait, the one with the largest priority starts." },
        { value: "False", rule: "Of the jobs that wait, the one with the smallest priority starts." },
      ],
      probes: '[[[["a", 0, 1, 5], ["b", 1, 2, 5], ["c", 2, 9, 5]]]]',
    },
    {
      name: "SHORT_FIRST",
      choices: [
        {
          value: "True",
          rule: "Among equal priorities the one with the shortest duration starts, and among these the one whose name sorts first.",
        },
        {
          value: "False",
          rule: "Among equal priorities the one that arrived first starts, and among these the one whose name sorts first.",
        },
      ],
      probes: '[[[["a", 0, 3, 9], ["b", 1, 3, 8], ["c", 2, 3, 2]]]]',
    },
    {
      name: "PAUSE",
      choices: [
        { value: "0", rule: "The worker is free again at the end of a job." },
        { value: "1", rule: "After each job the worker rests for 1 and is free again one after its end." },
      ],
      probes: '[[[["a", 0, 3, 4], ["b", 1, 3, 4]]]]',
    },
  ],
  oracle: `
import heapq


def schedule(jobs):
    coming = sorted((job for job in jobs if job[3] >= 0), key=lambda job: job[1])
    waiting, result, now, index = [], [], None, 0
    while index < len(coming) or waiting:
        if not waiting and (now is None or coming[index][1] > now):
            now = coming[index][1]
        while index < len(coming) and coming[index][1] <= now:
            name, arrival, priority, duration = coming[index]
            second = duration if SHORT_FIRST else arrival
            heapq.heappush(waiting, (-priority if HIGH_FIRST else priority, second, name, duration))
            index += 1
        _, _, name, duration = heapq.heappop(waiting)
        result.append([name, now, now + duration])
        now += duration + PAUSE
    return result
`,
  other: `
def schedule(jobs):
    left = [job for job in jobs if job[3] >= 0]
    result, free = [], None
    while left:
        first = min(arrival for _, arrival, _, _ in left)
        start = first if free is None else max(free, first)
        ready = [job for job in left if job[1] <= start]
        sign = -1 if HIGH_FIRST else 1
        job = min(ready, key=lambda one: (sign * one[2], one[3] if SHORT_FIRST else one[1], one[0]))
        left.remove(job)
        result.append([job[0], start, start + job[3]])
        free = start + job[3] + PAUSE
    return result
`,
  plain: '[[[]], [[["a", 5, 1, 2]]], [[["late", 20, 1, 2], ["early", 0, 1, 2]]]]',
  results: "[[], [['a', 5, 7]], [['early', 0, 2], ['late', 20, 22]]]",
  draw: `
def draw(r):
    return [[[f"{r.choice('abcd')}{i}", r.randrange(40), r.randrange(4), r.randrange(1, 8)] for i in range(r.randrange(3, 20))]]
`,
  slip: { name: "negative-durations-planned", from: "if job[3] >= 0", to: "if True" },
  edge: {
    rule: "A job with a negative duration is never planned; one with duration 0 is planned like any other.",
    probes: '[[[["a", 0, 1, -1], ["b", 0, 1, 0]]], [[["x", 9, 2, -5]]]]',
  },
};

const versions: Subject = {
  id: "versions",
  language: "javascript",
  title: "Sorting versions",
  entry: "sorted",
  signature: "sorted(versions) // an array of strings; gives a new array",
  text: "Sorts versions from old to new. A version has one to four whole numbers without sign parted by points, and may end with `-` and a word of small letters (`1.4.0-beta`). Numbers are compared from left to right as numbers, missing ones as 0. Versions that compare as equal keep the order in which they were given.",
  options: [
    {
      name: "WORD_FIRST",
      choices: [
        { value: "true", rule: "Where all numbers are equal, a version with a word is older than one without." },
        { value: "false", rule: "Where all numbers are equal, a version with a word is newer than one without." },
      ],
      probes: '[[["1.0", "1.0-beta"]], [["1.0-beta", "1.0"]]]',
    },
    {
      name: "WORDS_COMPARED",
      choices: [
        {
          value: "true",
          rule: "Where all numbers are equal and both have a word, the words are compared by the alphabet.",
        },
        {
          value: "false",
          rule: "Where all numbers are equal and both have a word, the versions compare as equal, whatever the words.",
        },
      ],
      probes: '[[["2-rc", "2-alpha"]]]',
    },
    {
      name: "BAD_LAST",
      choices: [
        { value: "true", rule: "Texts that are no version come at the end, in the order given." },
        { value: "false", rule: "Texts that are no version are left out." },
      ],
      probes: '[[["oops", "3.1"]], [["1..2"]]]',
    },
  ],
  oracle: `
export function sorted(versions) {
  const good = [];
  const bad = [];
  for (const text of versions) {
    const match = /^(\\d+(?:\\.\\d+){0,3})(?:-([a-z]+))?$/.exec(text);
    if (match === null) bad.push(text);
    else good.push({ text, numbers: match[1].split(".").map((part) => BigInt(part)), word: match[2] ?? null });
  }
  good.sort((a, b) => {
    for (let i = 0; i < 4; i += 1) {
      const [x, y] = [a.numbers[i] ?? 0n, b.numbers[i] ?? 0n];
      if (x !== y) return x < y ? -1 : 1;
    }
    if ((a.word === null) !== (b.word === null)) return (a.word !== null) === WORD_FIRST ? -1 : 1;
    if (a.word === b.word || !WORDS_COMPARED) return 0;
    return a.word < b.word ? -1 : 1;
  });
  return [...good.map(({ text }) => text), ...(BAD_LAST ? bad : [])];
}
`,
  other: `
const keyOf = (text) => {
  const [numbers, ...words] = text.split("-");
  const parts = numbers.split(".");
  const isGood = parts.length <= 4 && parts.every((part) => /^[0-9]+$/.test(part)) && words.length < 2;
  if (!isGood || words.some((word) => !/^[a-z]+$/.test(word))) return null;
  // Numbers as length and digits, so that keys compare as texts.
  const digits = [...parts, "0", "0", "0"].slice(0, 4).map((part) => part.replace(/^0+(?=\\d)/, ""));
  const sortable = digits.map((part) => String(part.length).padStart(4, "0") + part).join(" ");
  const word = words[0] === undefined ? (WORD_FIRST ? "~" : "!") : WORDS_COMPARED ? words[0] : "a";
  return sortable + " " + word;
};

export function sorted(versions) {
  const keyed = versions.map((text, place) => ({ text, place, key: keyOf(text) }));
  const order = (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.place - b.place);
  const good = keyed.filter(({ key }) => key !== null).sort(order);
  const bad = BAD_LAST ? keyed.filter(({ key }) => key === null) : [];
  return [...good, ...bad].map(({ text }) => text);
}
`,
  plain: '[[[]], [["2.0", "1.5"]], [["1.2.3", "1.2", "0.9.9.9"]], [["3", "3.0", "3.0.0"]]]',
  results: '[[], ["1.5", "2.0"], ["0.9.9.9", "1.2", "1.2.3"], ["3", "3.0", "3.0.0"]]',
  draw: `
export function draw(r) {
  const upto = (n) => Math.floor(r() * n);
  const one = () => {
    if (upto(9) === 0) return ["v1", "", "1.", "1.2.3.4.5", "1-B", "x-y"][upto(6)];
    const numbers = Array.from({ length: 1 + upto(3) }, () => String(upto(3) === 0 ? upto(120) : upto(3)));
    return numbers.join(".") + (upto(3) === 0 ? "-" + ["alpha", "beta", "rc"][upto(3)] : "");
  };
  return [Array.from({ length: 5 + upto(20) }, one)];
}
`,
  slip: { name: "numbers-as-text", from: "map((part) => BigInt(part))", to: "map((part) => part)" },
  edge: {
    rule: "Numbers may have leading zeros, which mean nothing, and any length.",
    probes: '[[["1.10", "1.9"]], [["1.02", "1.1"]], [["9007199254740993", "9007199254740992"]]]',
  },
};

const words: Subject = {
  id: "completion",
  language: "javascript",
  title: "Completing words",
  entry: "complete",
  signature: "complete(entries, prefix, count) // gives an array of at most count strings",
  text: "Gives the words that begin with `prefix`, the most frequent first, at most `count` of them. `entries` is an array of `[word, frequency]` with whole frequencies; a word may be given several times, and its frequencies add up.",
  options: [
    {
      name: "LONG_FIRST",
      choices: [
        { value: "false", rule: "Words of equal frequency are in the order of their characters' codes." },
        {
          value: "true",
          rule: "Of words of equal frequency the longer one comes first, and of equally long ones the one whose characters' codes sort first.",
        },
      ],
      probes: '[[[["ab", 3], ["abc", 3]], "a", 5]]',
    },
    {
      name: "FOLDED",
      choices: [
        {
          value: "true",
          rule: "Capital and small letters (A to Z) are not told apart: words and prefix are taken in small letters, and the result is in small letters.",
        },
        { value: "false", rule: "Capital and small letters are told apart." },
      ],
      probes: '[[[["Tea", 3], ["tea", 1], ["ten", 2]], "te", 9]]',
    },
    {
      name: "WHOLE",
      choices: [
        { value: "true", rule: "A word that equals the prefix belongs to the result." },
        { value: "false", rule: "A word that equals the prefix does not belong to the result." },
      ],
      probes: '[[[["on", 3], ["once", 1]], "on", 9]]',
    },
  ],
  oracle: `
export function complete(entries, prefix, count) {
  const fold = (text) => (FOLDED ? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : text);
  const sums = new Map();
  for (const [word, frequency] of entries) sums.set(fold(word), (sums.get(fold(word)) ?? 0) + frequency);
  const start = fold(prefix);
  return [...sums]
    .filter(([word, sum]) => sum > 0 && word.startsWith(start) && (WHOLE || word !== start))
    .sort(([a, x], [b, y]) => y - x || (LONG_FIRST ? b.length - a.length : 0) || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([word]) => word);
}
`,
  other: `
class Node {
  children = new Map();
  sum = 0;
}

export function complete(entries, prefix, count) {
  const small = (text) => [...text].map((one) => (FOLDED && one >= "A" && one <= "Z" ? one.toLowerCase() : one)).join("");
  const root = new Node();
  for (const [word, frequency] of entries) {
    let node = root;
    for (const letter of small(word).split("")) {
      if (!node.children.has(letter)) node.children.set(letter, new Node());
      node = node.children.get(letter);
    }
    node.sum += frequency;
  }
  let node = root;
  for (const letter of small(prefix).split("")) node = node?.children.get(letter);
  const found = [];
  const walk = (at, word) => {
    if (at.sum > 0 && (WHOLE || word !== small(prefix))) found.push({ word, sum: at.sum });
    for (const [letter, child] of at.children) walk(child, word + letter);
  };
  if (node !== undefined) walk(node, small(prefix));
  found.sort((a, b) => {
    if (a.sum !== b.sum) return b.sum - a.sum;
    if (LONG_FIRST && a.word.length !== b.word.length) return b.word.length - a.word.length;
    return a.word < b.word ? -1 : 1;
  });
  return found.slice(0, count).map(({ word }) => word);
}
`,
  plain:
    '[[[], "a", 3], [[["cat", 2], ["car", 5], ["dog", 9]], "ca", 5], [[["cat", 2], ["car", 1], ["cat", 3]], "c", 1]]',
  results: '[[], ["car", "cat"], ["cat"]]',
  draw: `
export function draw(r) {
  const upto = (n) => Math.floor(r() * n);
  const text = (length) => Array.from({ length }, () => "abAB"[upto(4)]).join("");
  return [Array.from({ length: 5 + upto(25) }, () => [text(1 + upto(4)), upto(6) - 1]), text(upto(3)), upto(8)];
}
`,
  slip: { name: "negatives-kept", from: "sum > 0 && ", to: "" },
  edge: {
    rule: "Frequencies may be negative; a word whose frequencies add up to 0 or less is no word. The empty prefix begins every word, and `count` may be 0.",
    probes: '[[[["up", 2], ["up", -2], ["us", 1]], "u", 9], [[["ha", -1]], "h", 3]]',
  },
};

export const LISTS: readonly Subject[] = [scheduler, versions, words];
