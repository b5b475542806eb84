/** Faults of the router's paths: when they are decoded, what a kind remembers, and which route is tried first. */
import type { Fault } from "../../support/repair/world.ts";

export const ROUTER_PATH_FAULTS: readonly Fault[] = [
  {
    id: "slash-within",
    kind: "ordering",
    distance: 2,
    file: "path.js",
    right:
      '    const segments = path.split("/").filter((segment) => segment !== "");\n    return segments.map((segment) => decodeURIComponent(segment));\n',
    broken: '    return decodeURIComponent(path).split("/").filter((segment) => segment !== "");\n',
    other:
      "    const segments = [];\n    for (const [coded] of path.matchAll(/[^/]+/g)) segments.push(decodeURIComponent(coded));\n    return segments;\n",
    symptom:
      'Pages of things with a slash in their name are not found. With the route `/notes/:name`, `Qlink` gives `/notes/in%2Fout` for the name `in/out`, but `Qmatch("/notes/in%2Fout")` is null. We expect the name `in/out`.',
    rule: "A path is cut at its slashes first, and each segment is decoded then.",
    edge: "Each segment is decoded once and whole, and where one cannot be decoded, nothing fits.",
    visible: `test("a name may hold a slash", () => {
  const router = new lib.QRouter().add("note", "/notes/:name");
  assert.deepEqual(router.Qmatch("/notes/in%2Fout"), { name: "note", params: { name: "in/out" }, query: {} });
});
`,
    unit: `test("links of names with slashes lead back", () => {
  const whole = wholes(random("names"));
  const names = ["x//y", ...Array.from({ length: 6 }, () => "a" + "/".repeat(whole(1, 3)) + "b" + whole(1, 99))];
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("note", "/notes/:name").add("tree", "/tree/*path");
    return given.map((name) => [
      router.Qmatch(router.Qlink("note", { name }))?.params.name,
      router.Qmatch(router.Qlink("tree", { path: [name, "end"] }))?.params.path,
    ]);
  }, names);
  assert.deepEqual(got, names.map((name) => [name, [name, "end"]]));
});

test("a coded slash parts nothing", () => {
  const word = "w" + wholes(random("coded"))(1, 99);
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("two", "/:first/:second").add("one", "/:only");
    return ["/a%2F" + given, "/a/" + given, "/%2F" + given + "%2F", "/a%2Fb/c%2f"].map((url) => router.Qmatch(url)?.params);
  }, word);
  assert.deepEqual(got, [{ only: "a/" + word }, { first: "a", second: word }, { only: "/" + word + "/" }, { first: "a/b", second: "c/" }]);
});
`,
    boundary: `test("is decoded once and whole", () => {
  const number = wholes(random("once"))(1, 99);
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("one", "/:only");
    return ["/%252F" + given, "/%2541", "/100%25", "/%3F%23%26%3D", "/%C3%A4%20+", "/a%2fb"].map((url) => router.Qmatch(url)?.params.only ?? null);
  }, number);
  assert.deepEqual(got, ["%2F" + number, "%41", "100%", "?#&=", "\u00e4 +", "a/b"]);
});

test("nothing fits what cannot be decoded", () => {
  const number = wholes(random("broken"))(1, 9);
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("one", "/:only").add("all", "/*path");
    return ["/%", "/%E4" + given, "/well/%zz", "/well?q=%"].map((url) => router.Qmatch(url)?.name ?? null);
  }, number);
  assert.deepEqual(got, [null, null, null, "one"]);
});
`,
    wrong: [
      {
        name: "hides-the-slash",
        text: '    const hidden = path.replaceAll(/%2F/gi, "%252F");\n    const segments = decodeURIComponent(hidden).split("/").filter((segment) => segment !== "");\n    return segments.map((segment) => segment.replaceAll("%2F", "/"));\n',
        fails: ["is decoded once and whole"],
      },
      {
        name: "leaves-some-coded",
        text: '    const segments = path.split("/").filter((segment) => segment !== "");\n    return segments.map((segment) => decodeURI(segment).replaceAll(/%2f/gi, "/"));\n',
        fails: ["is decoded once and whole"],
      },
      {
        name: "decodes-what-it-can",
        text: '    const text = (coded) => {\n      try {\n        return decodeURIComponent(coded);\n      } catch {\n        return coded;\n      }\n    };\n    return path.split("/").filter((segment) => segment !== "").map(text);\n',
        fails: ["nothing fits what cannot be decoded"],
      },
      {
        name: "only-the-first-slash",
        text: '    const segments = path.split("/").filter((segment) => segment !== "");\n    return segments.map((segment) => decodeURIComponent(segment).replaceAll("//", "/"));\n',
        fails: ["links of names with slashes lead back"],
      },
    ],
  },
  {
    id: "every-second-time",
    kind: "mutable-state",
    distance: 3,
    file: "pattern.js",
    right: "  int: /^-?[0-9]+$/,\n  word: /^[\\p{L}\\p{N}_-]+$/u,\n",
    broken: "  int: /^-?[0-9]+$/g,\n  word: /^[\\p{L}\\p{N}_-]+$/gu,\n",
    other:
      "  int: { test: (text) => text.search(/^-?[0-9]+$/) === 0 },\n  word: { test: (text) => text.search(/^[\\p{L}\\p{N}_-]+$/u) === 0 },\n",
    symptom:
      'Every second visitor of a page gets an error. With the route `/users/:id(int)`, `Qmatch("/users/7")` finds the page, the next same call gives null, the one after that finds it again. We expect the same answer every time.',
    rule: "A segment fits its kind whatever was asked before.",
    edge: "This holds for every kind, and a segment fits only if all of it is of the kind.",
    visible: `test("the same answer every time", () => {
  const router = new lib.QRouter().add("user", "/users/:id(int)");
  const names = [1, 2, 3, 4].map(() => router.Qmatch("/users/7")?.name);
  assert.deepEqual(names, ["user", "user", "user", "user"]);
});
`,
    unit: `test("numbers fit however often they are asked for", () => {
  const whole = wholes(random("numbers"));
  const numbers = Array.from({ length: 12 }, () => String(whole(-999, 999)));
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("user", "/users/:id(int)").add("other", "/users/:name");
    return given.map((id) => router.Qmatch("/users/" + id));
  }, numbers);
  assert.deepEqual(got, numbers.map((id) => ({ name: "user", params: { id }, query: {} })));
});

test("two numbers in one path, and two routers", () => {
  const whole = wholes(random("two"));
  const pair = [String(whole(1, 999)), String(whole(1, 999))];
  const got = ask(({ QRouter }, [one, other]) => {
    const first = new QRouter().add("cell", "/:row(int)/:column(int)");
    const second = new QRouter().add("line", "/:line(int)");
    return [first.Qmatch("/" + one + "/" + other)?.params, second.Qmatch("/" + one)?.params, second.Qmatch("/" + other)?.params];
  }, pair);
  assert.deepEqual(got, [{ row: pair[0], column: pair[1] }, { line: pair[0] }, { line: pair[1] }]);
});
`,
    boundary: `test("words fit each time, in all languages", () => {
  const word = "w-" + wholes(random("words"))(1, 99);
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("tag", "/:tag(word)");
    return given.map((tag) => router.Qmatch("/" + encodeURIComponent(tag))?.params.tag ?? null);
  }, [word, word, "\u00e4\u00f6", "\u65e5\u672c", "a_b", "a_b", "\u0664\u0665"]);
  assert.deepEqual(got, [word, word, "\u00e4\u00f6", "\u65e5\u672c", "a_b", "a_b", "\u0664\u0665"]);
});

test("only a whole segment fits", () => {
  const number = String(wholes(random("whole"))(10, 99));
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("int", "/i/:id(int)").add("word", "/w/:id(word)");
    const ints = [given + "a", "x" + given, "--" + given, given + "-", "%0A" + given, given + "%0A", "-", "\u0664"];
    const words = ["a b", "a.", "%0Aa", "a%2Fb"];
    return [...ints.map((id) => router.Qmatch("/i/" + id)), ...words.map((id) => router.Qmatch("/w/" + id))];
  }, number);
  assert.deepEqual(got, Array.from({ length: 12 }, () => null));
});
`,
    wrong: [
      {
        name: "only-numbers",
        text: "  int: /^-?[0-9]+$/,\n  word: /^[\\p{L}\\p{N}_-]+$/gu,\n",
        fails: ["words fit each time, in all languages"],
      },
      {
        name: "somewhere-within",
        text: "  int: /-?[0-9]+/,\n  word: /[\\p{L}\\p{N}_-]+/u,\n",
        fails: ["only a whole segment fits"],
      },
      {
        name: "plain-letters",
        text: "  int: /^-?[0-9]+$/,\n  word: /^[\\w-]+$/,\n",
        fails: ["words fit each time, in all languages"],
      },
      {
        name: "line-by-line",
        text: "  int: /^-?[0-9]+$/m,\n  word: /^[\\p{L}\\p{N}_-]+$/mu,\n",
        fails: ["only a whole segment fits"],
      },
      {
        name: "sticks",
        text: "  int: /-?[0-9]+$/y,\n  word: /[\\p{L}\\p{N}_-]+$/uy,\n",
        fails: ["numbers fit however often they are asked for", "two numbers in one path, and two routers"],
      },
    ],
  },
  {
    id: "who-says-more",
    kind: "default-sort",
    distance: 2,
    file: "router.js",
    right: "    this.#routes.sort((one, other) => compareParts(one.parts, other.parts));\n",
    broken: "    this.#routes.sort((one, other) => (one.pattern < other.pattern ? -1 : 1));\n",
    other:
      "    const { parts } = this.#routes.pop();\n    const later = this.#routes.findIndex((route) => compareParts(parts, route.parts) < 0);\n    this.#routes.splice(later === -1 ? this.#routes.length : later, 0, { name, pattern, parts });\n",
    symptom:
      'The page for new files cannot be reached. With the routes `/files/*path` and `/files/new`, `Qmatch("/files/new")` gives the first one, in whatever order they are added. We expect the route that says more to win.',
    rule: "Of several routes that fit, the one that says more wins, segment by segment from the left.",
    edge: "The first segment in which they differ decides, and of equal routes that which was added first wins.",
    visible: `test("a text says more than all that is left", () => {
  const router = new lib.QRouter().add("all", "/files/*path").add("new", "/files/new");
  assert.equal(router.Qmatch("/files/new")?.name, "new");
});
`,
    unit: `test("text, kind, name, rest, in whatever order they are added", () => {
  const whole = wholes(random("order"));
  const patterns = ["/f/7", "/f/:a(int)", "/f/:Z", "/f/*all"];
  for (let at = patterns.length - 1; at > 0; at -= 1) {
    const other = whole(0, at);
    [patterns[at], patterns[other]] = [patterns[other], patterns[at]];
  }
  const got = ask(({ QRouter }, given) => given.map((patterns) => {
    const router = new QRouter();
    for (const pattern of patterns) router.add(pattern, pattern);
    return ["/f/7", "/f/8", "/f/x", "/f/x/y"].map((url) => router.Qmatch(url)?.name);
  }), [patterns, ["/f/*all", "/f/:Z", "/f/:a(int)", "/f/7"]]);
  const names = ["/f/7", "/f/:a(int)", "/f/:Z", "/f/*all"];
  assert.deepEqual(got, [names, names]);
});

test("long patterns do not win by length", () => {
  const word = "w" + wholes(random("long"))(1, 99);
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter().add("tree", "/*all").add("deep", "/:a/:b/:c").add("fixed", "/" + given + "/*rest");
    return ["/" + given + "/x/y", "/z/x/y", "/z/x"].map((url) => router.Qmatch(url)?.name);
  }, word);
  assert.deepEqual(got, ["fixed", "deep", "tree"]);
});
`,
    boundary: `test("the first difference decides", () => {
  const word = "w" + wholes(random("first"))(1, 99);
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter()
      .add("late", "/:x/" + given + "/c/d")
      .add("early", "/a/:y/:z/:w")
      .add("kind", "/:x(word)/:y/:z/:w");
    return ["/a/" + given + "/c/d", "/b/" + given + "/c/d", "/./" + given + "/c/d"].map((url) => router.Qmatch(url)?.name);
  }, word);
  assert.deepEqual(got, ["early", "kind", "late"]);
});

test("of equal routes the first one wins", () => {
  const count = wholes(random("equal"))(2, 14);
  const got = ask(({ QRouter }, given) => {
    const router = new QRouter();
    for (let at = given; at >= 0; at -= 1) router.add("route" + at, "/x/:p" + at);
    router.add("text", "/x/y");
    return [router.Qmatch("/x/z"), router.Qmatch("/x/y")?.name];
  }, count);
  assert.deepEqual(got, [{ name: "route" + count, params: { ["p" + count]: "z" }, query: {} }, "text"]);
});
`,
    wrong: [
      {
        name: "counts-texts",
        text: "    const texts = ({ parts }) => parts.filter(({ rank }) => rank === 0).length;\n    const open = ({ parts }) => Math.max(0, ...parts.map(({ rank }) => rank));\n    this.#routes.sort((one, other) => texts(other) - texts(one) || open(one) - open(other));\n",
        fails: ["the first difference decides"],
      },
      {
        name: "the-last-added",
        text: "    this.#routes.reverse();\n    this.#routes.sort((one, other) => compareParts(one.parts, other.parts));\n",
        fails: ["of equal routes the first one wins"],
      },
      {
        name: "as-they-were-added",
        text: "    this.#routes.sort(() => 0);\n",
        fails: ["text, kind, name, rest, in whatever order they are added", "long patterns do not win by length"],
      },
      {
        name: "longest-first",
        text: "    this.#routes.sort((one, other) => other.parts.length - one.parts.length || compareParts(one.parts, other.parts));\n",
        fails: ["long patterns do not win by length"],
      },
    ],
  },
];
