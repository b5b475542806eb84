/** Faults of the router's texts: queries and short titles. */
import type { Fault } from "../../support/repair/world.ts";

export const ROUTER_TEXT_FAULTS: readonly Fault[] = [
  {
    id: "plus-signs",
    kind: "ordering",
    distance: 2,
    file: "query.js",
    right: '    return decodeURIComponent(text.replaceAll("+", " "));\n',
    broken: '    return decodeURIComponent(text).replaceAll("+", " ");\n',
    other: '    return text.split("+").map(decodeURIComponent).join(" ");\n',
    symptom:
      'Searches for `C++` find nothing. `QwriteQuery({ q: "C++" })` is `q=C%2B%2B`, which is right, but `Qmatch("/search?q=C%2B%2B")` gives the query `C` with two spaces. We expect `C++`.',
    rule: "In a query every + is a space, and %2B is a plus sign.",
    edge: "This holds for names and for every + of a text; what cannot be decoded stays as it was written.",
    visible: `test("a coded plus is a plus", () => {
  const router = new lib.QRouter().add("search", "/search");
  assert.deepEqual(router.Qmatch("/search?q=C%2B%2B")?.query, { q: "C++" });
});
`,
    unit: `test("what is written is read again", () => {
  const whole = wholes(random("again"));
  const signs = ["+", " ", "%", "&", "=", "a", "%2B", "++"];
  const values = Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => ["n" + at, "+" + Array.from({ length: 5 }, () => signs[whole(0, 7)]).join("")]),
  );
  const got = ask(({ QparseQuery, QwriteQuery }, given) => QparseQuery(QwriteQuery(given)), values);
  assert.deepEqual(got, values);
});

test("coded and plain plus signs side by side", () => {
  const number = wholes(random("side"))(1, 99);
  const got = ask(({ QparseQuery }, given) => QparseQuery("a=" + given + "+%2B+1&b=%2b"), number);
  assert.deepEqual(got, { a: number + " + 1", b: "+" });
});
`,
    boundary: `test("every plain plus is a space, in names too", () => {
  const word = "w" + wholes(random("names"))(1, 99);
  const got = ask(({ QparseQuery }, given) => QparseQuery("a+b+" + given + "=c++d+&1%2B1=+"), word);
  assert.deepEqual(got, { ["a b " + word]: "c  d ", "1+1": " " });
});

test("what cannot be decoded stays as it was written", () => {
  const number = wholes(random("stays"))(1, 9);
  const got = ask(({ QparseQuery }, given) => QparseQuery("a=100%&b=%zz+" + given + "&%=%E4+x&c=%2525"), number);
  assert.deepEqual(got, { a: "100%", b: "%zz+" + number, "%": "%E4+x", c: "%25" });
});
`,
    wrong: [
      {
        name: "one-plus",
        text: '    return decodeURIComponent(text.replace("+", " "));\n',
        fails: ["coded and plain plus signs side by side"],
      },
      {
        name: "no-spaces",
        text: "    return decodeURIComponent(text);\n",
        fails: ["coded and plain plus signs side by side"],
      },
      {
        name: "spaces-in-what-stays",
        text: '    text = text.replaceAll("+", " ");\n    return decodeURIComponent(text);\n',
        fails: ["what cannot be decoded stays as it was written"],
      },
      {
        name: "by-the-platform",
        text: '    return new URLSearchParams("x=" + text).get("x");\n',
        fails: ["what cannot be decoded stays as it was written"],
      },
    ],
  },
  {
    id: "names-of-old",
    kind: "wrong-default",
    distance: 1,
    file: "query.js",
    right: `  const values = new Map();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const [start, ...rest] = pair.split("=");
    const name = decoded(start);
    const value = decoded(rest.join("="));
    if (values.has(name)) values.set(name, [values.get(name), value].flat());
    else values.set(name, value);
  }
  return Object.fromEntries(values);
`,
    broken: `  const values = {};
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const [start, ...rest] = pair.split("=");
    const name = decoded(start);
    const value = decoded(rest.join("="));
    if (name in values) values[name] = [values[name], value].flat();
    else values[name] = value;
  }
  return values;
`,
    other: `  const values = Object.create(null);
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const at = pair.includes("=") ? pair.indexOf("=") : pair.length;
    const name = decoded(pair.slice(0, at));
    (values[name] ??= []).push(decoded(pair.slice(at + 1)));
  }
  return Object.fromEntries(Object.entries(values).map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
`,
    symptom:
      'Our form about houses has a field `constructor`, and its value arrives as a list with something odd in it: `QparseQuery("constructor=Smith")` is not `{ constructor: "Smith" }`. The same happens with fields called `toString` or `valueOf`. We expect every name to count like any other.',
    rule: "Every name of a query counts, also one that objects know by themselves.",
    edge: "The name __proto__ is a name too, and a name that stands there more than once has a list, empty values included.",
    visible: `test("a field may be called constructor", () => {
  assert.deepEqual(lib.QparseQuery("constructor=Smith"), { constructor: "Smith" });
});
`,
    unit: `test("names that objects know", () => {
  const number = wholes(random("known"))(1, 99);
  const names = ["constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf"];
  const got = ask(({ QparseQuery }, { names, number }) => {
    return QparseQuery(names.map((name) => name + "=" + number).join("&") + "&plain=1");
  }, { names, number });
  assert.deepEqual(Object.entries(got), [...names.map((name) => [name, String(number)]), ["plain", "1"]]);
});

test("such names more than once, in the query of a page", () => {
  const number = wholes(random("page"))(1, 99);
  const got = ask(({ QRouter }, given) => {
    const query = new QRouter().add("home", "/").Qmatch("/?toString=" + given + "&toString=2&toString=&valueOf")?.query;
    return Object.entries(query);
  }, number);
  assert.deepEqual(got, [["toString", [String(number), "2", ""]], ["valueOf", ""]]);
});
`,
    boundary: `test("even __proto__ is a name", () => {
  const word = "w" + wholes(random("proto"))(1, 99);
  const got = ask(({ QparseQuery }, given) => {
    const once = QparseQuery("__proto__=" + given + "&a=1");
    const twice = QparseQuery("__proto__=1&__proto__=2");
    return [Object.entries(once), Object.entries(twice), Object.keys({}).length];
  }, word);
  assert.deepEqual(got, [[["__proto__", word], ["a", "1"]], [["__proto__", ["1", "2"]]], 0]);
});

test("empty values and names are kept in their order", () => {
  const word = "w" + wholes(random("empty"))(1, 99);
  const got = ask(({ QparseQuery }, given) => Object.entries(QparseQuery("a=&a=" + given + "&=x&a&b=&=")), word);
  assert.deepEqual(got, [["a", ["", word, ""]], ["", ["x", ""]], ["b", ""]]);
});
`,
    wrong: [
      {
        name: "own-names-only",
        text: `  const values = {};
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const [start, ...rest] = pair.split("=");
    const name = decoded(start);
    const value = decoded(rest.join("="));
    if (Object.hasOwn(values, name)) values[name] = [values[name], value].flat();
    else values[name] = value;
  }
  return values;
`,
        fails: ["even __proto__ is a name"],
      },
      {
        name: "empty-is-none",
        text: `  const values = new Map();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const [start, ...rest] = pair.split("=");
    const name = decoded(start);
    const value = decoded(rest.join("="));
    if (values.get(name)) values.set(name, [values.get(name), value].flat());
    else values.set(name, value);
  }
  return Object.fromEntries(values);
`,
        fails: ["empty values and names are kept in their order"],
      },
      {
        name: "only-the-constructor",
        text: `  const values = { constructor: undefined };
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const [start, ...rest] = pair.split("=");
    const name = decoded(start);
    const value = decoded(rest.join("="));
    if (name in values && values[name] !== undefined) values[name] = [values[name], value].flat();
    else values[name] = value;
  }
  if (values.constructor === undefined) delete values.constructor;
  return values;
`,
        fails: ["names that objects know", "such names more than once, in the query of a page"],
      },
    ],
  },
  {
    id: "half-a-letter",
    kind: "unicode",
    distance: 3,
    file: "slug.js",
    right: '  const short = [...words].slice(0, most).join("");\n',
    broken: "  const short = words.slice(0, most);\n",
    other:
      '  let short = "";\n  let count = 0;\n  for (const character of words) {\n    if (count === most) break;\n    short += character;\n    count += 1;\n  }\n',
    symptom:
      "For some long titles in Gothic and Chinese there is no link at all: `Qlink` fails with `URIError: URI malformed`. It depends on the length: with one letter more at the start, the same title is fine. We expect a link for every title, with as many characters of it as the rules say.",
    rule: "A short title has the first characters of the title, at most as many as are asked for, each of them whole.",
    edge: "A letter beyond U+FFFF is one character, a combining mark is one of its own, and no dash is left at the end.",
    visible: `test("a title of rare letters has a link", () => {
  const router = new lib.QRouter().add("home", "/");
  const title = "a" + "\u{10330}".repeat(60);
  assert.equal(router.Qlink("home", {}, { title }), "/#" + encodeURIComponent("a" + "\u{10330}".repeat(39)));
});
`,
    unit: `test("as many letters as are asked for", () => {
  const whole = wholes(random("letters"));
  const title = Array.from({ length: 30 }, (_, at) => (at % 3 === 0 ? "x" : String.fromCodePoint(0x20000 + whole(0, 99)))).join("");
  const given = { title, lengths: [2, 3, 5, whole(6, 29), 30, 99] };
  const got = ask(({ Qslug }, { title, lengths }) => lengths.map((most) => Qslug(title, most)), given);
  assert.deepEqual(got, given.lengths.map((most) => [...title].slice(0, most).join("")));
});

test("links of all lengths", () => {
  const start = wholes(random("start"))(0, 9);
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("page", "/p");
    return [0, 1, 2, 3].map((more) => router.Qlink("page", {}, { title: "y".repeat(given + more) + "\u{20001}".repeat(50) }));
  }, start);
  const told = [0, 1, 2, 3].map((more) => "y".repeat(start + more) + "\u{20001}".repeat(40 - start - more));
  assert.deepEqual(got, told.map((text) => "/p#" + encodeURIComponent(text)));
});
`,
    boundary: `test("a mark is a character of its own", () => {
  const most = wholes(random("marks"))(2, 7);
  const got = ask(({ Qslug }, given) => [Qslug("e\u0301".repeat(9), given), Qslug("\u0915\u093f\u0915\u093f", 3)], most);
  assert.deepEqual(got, ["e\u0301".repeat(9).slice(0, most), "\u0915\u093f\u0915"]);
});

test("no dash at the end, none at the start, and nothing at all", () => {
  const letter = String.fromCodePoint(0x20000 + wholes(random("dash"))(0, 99));
  const got = ask(({ Qslug }, given) => {
    return [Qslug(given + " " + given, 2), Qslug("\u{1F600} " + given, 1), Qslug(given + "x", 0), Qslug("\u{1F600}"), Qslug("A" + given + "!", 2)];
  }, letter);
  assert.deepEqual(got, [letter, letter, "", "", "a" + letter]);
});
`,
    wrong: [
      {
        name: "by-what-is-seen",
        text: '  const seen = [...new Intl.Segmenter("en").segment(words)].map(({ segment }) => segment);\n  const short = seen.slice(0, most).join("");\n',
        fails: ["a mark is a character of its own"],
      },
      {
        name: "drops-the-half",
        text: '  const short = words.slice(0, most).replace(/[\\ud800-\\udbff]$/, "");\n',
        fails: ["as many letters as are asked for", "links of all lengths"],
      },
      {
        name: "composes-first",
        text: '  const short = [...words.normalize("NFC")].slice(0, most).join("");\n',
        fails: ["a mark is a character of its own"],
      },
      {
        name: "plain-letters-only",
        text: '  const short = words.replace(/[^\\u0000-\\uffff]/gu, "").slice(0, most);\n',
        fails: ["as many letters as are asked for", "links of all lengths"],
      },
    ],
  },
];
