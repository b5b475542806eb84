/** Milestones and judges as a task's author writes them: what they mean, and what a wrong one is told. */
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { z } from "zod";
import { JUDGE_SCHEMA, judgeOf } from "./judge-fields.ts";
import {
  MILESTONE_SCHEMA,
  MILESTONES_CAP_SCHEMA,
  MILESTONES_CREDIT_SCHEMA,
  milestonesOf,
  type Refuse,
} from "./milestone-fields.ts";
import { taskInvalid } from "./problem.ts";
import { fieldName } from "./task-toml.ts";

const refuse: Refuse = ({ path, ...problem }) => taskInvalid({ file: "task.toml", field: fieldName(path), ...problem });

const schema = z.object({
  milestones: MILESTONE_SCHEMA.optional(),
  milestones_cap: MILESTONES_CAP_SCHEMA.optional(),
  milestones_credit: MILESTONES_CREDIT_SCHEMA.optional(),
  judge: JUDGE_SCHEMA.optional(),
});

function read(toml: string) {
  const declared = schema.parse(parse(toml, { integersAsBigInt: "asNeeded" }));
  return { milestones: milestonesOf(declared, refuse), judge: judgeOf(declared.judge, refuse) };
}

function predicate(toml: string) {
  return read(`[[milestones]]\nname = "m"\npredicate = ${toml}`).milestones?.items[0]?.predicate;
}

test("a milestone is read as the documents write it, with its defaults", () => {
  const toml =
    'milestones = [{ name = "service-answers", predicate = { http = "http://127.0.0.1:8080/health", status = 200 } }]';
  expect(read(toml).milestones).toEqual({
    items: [
      {
        name: "service-answers",
        predicate: { kind: "http", url: "http://127.0.0.1:8080/health", status: 200 },
        weight: 1,
        once: true,
      },
    ],
    cap: 0.2,
    credit: "shaping",
  });
  const more = `milestones_cap = 0.5\nmilestones_credit = "partial"\n[[milestones]]\nname = "a"\nweight = 2\nonce = false\npredicate.port = 80`;
  expect(read(more).milestones).toMatchObject({ cap: 0.5, credit: "partial", items: [{ weight: 2, once: false }] });
  expect(read("")).toEqual({ milestones: undefined, judge: undefined });
});

test.each<[string, unknown]>([
  ['{ file = "/app/a" }', { kind: "file", path: "/app/a" }],
  ['{ file = "/app/a", exists = false }', { kind: "file", path: "/app/a", exists: false }],
  [
    '{ file = "/app/a", bytes_min = 1, bytes_max = 9, regex = "^a$" }',
    { kind: "file", path: "/app/a", bytesMin: 1, bytesMax: 9, regex: "^a$" },
  ],
  [
    '{ file = "/app/a", pointer = "/x/0", equals = { y = [1, "z"] } }',
    { kind: "file", path: "/app/a", json: { pointer: "/x/0", equals: { y: [1, "z"] } } },
  ],
  ["{ port = 8080 }", { kind: "port", port: 8080 }],
  ['{ process = ["python3", "a.py"] }', { kind: "process", argv: ["python3", "a.py"] }],
  [
    '{ query = "SELECT 1", database = "/app/a.db", equals = 1 }',
    { kind: "query", sql: "SELECT 1", database: "/app/a.db", equals: 1 },
  ],
  [
    '{ http = "http://localhost:80/", pointer = "", equals = true }',
    { kind: "http", url: "http://localhost:80/", status: 200, json: { pointer: "", equals: true } },
  ],
  [
    '{ all = [{ port = 1 }, { not = { file = "/a" } }, { any = [{ port = 2 }] }] }',
    {
      kind: "all",
      of: [
        { kind: "port", port: 1 },
        { kind: "not", of: { kind: "file", path: "/a" } },
        { kind: "any", of: [{ kind: "port", port: 2 }] },
      ],
    },
  ],
])("the predicate %s is read", (toml, expected) => {
  expect(predicate(toml)).toEqual(expected);
});

test.each<[string, RegExp]>([
  ["{ }", /predicate = {} must name exactly one of file, port, process, query, http, all, any, not; write one/],
  ['{ queue = "jobs" }', /must name exactly one of/],
  ['{ file = "/a", port = 1 }', /must name exactly one of/],
  [
    '{ file = "a.txt" }',
    /milestones\[0\]\.predicate\.file = "a.txt" must be an absolute path without \. and \.\.; write/,
  ],
  ['{ file = "/app/../etc/passwd" }', /must be an absolute path/],
  ['{ file = "/a", regex = "(" }', /predicate\.regex = "\(" must be a pattern/],
  ['{ file = "/a", sha256 = "12" }', /predicate\.sha256 = "12" must be a SHA-256/],
  ['{ file = "/a", size = 3 }', /predicate\.size = 3 is no field of file; the fields are file, exists, bytes_min/],
  ['{ file = "/a", bytes_min = 3, bytes_max = 2 }', /bytes_min = 3 is above bytes_max; write a smaller number/],
  ['{ file = "/a", exists = false, regex = "a" }', /exists = false is false beside a field about the content/],
  ['{ file = "/a", pointer = "/x" }', /pointer = "\/x" stands without equals; write both/],
  ['{ file = "/a", pointer = "x", equals = 1 }', /pointer = "x" must be a JSON pointer/],
  ["{ port = 0 }", /predicate\.port = 0 must be a whole number from 1 to 65535/],
  ["{ process = [] }", /predicate\.process = \[\] must name a word/],
  [
    '{ query = "DROP TABLE a", database = "/a", equals = 1 }',
    /query = "DROP TABLE a" must be one statement that reads/,
  ],
  ['{ query = "SELECT 1", equals = 1 }', /predicate\.database is missing; write one/],
  ['{ query = "SELECT 1", database = "/a" }', /predicate\.equals is missing/],
  ['{ http = "http://example.org/" }', /http = "http:\/\/example.org\/" must be a URL on loopback/],
  ['{ http = "https://127.0.0.1/" }', /must be a URL on loopback/],
  ['{ http = "http://127.0.0.1/", status = 99 }', /status = 99 must be a whole number from 100 to 599/],
  ["{ any = [] }", /predicate\.any = \[\] must be a list of predicates/],
  ["{ any = [{ port = 0 }] }", /predicate\.any\[0\]\.port = 0 must be/],
  ["{ not = { port = 1 }, once = true }", /predicate\.once = .* has a field beside "not"/],
  ["{ not = { not = { not = { not = { port = 1 } } } } }", /is nested deeper than 4; write it flatter/],
])("the predicate %s is refused with field, value and remedy", (toml, message) => {
  expect(() => predicate(toml)).toThrow(message);
});

test.each<[string, RegExp]>([
  ['milestones = [{ name = "A b", predicate = { port = 1 } }]', /kebab-case/],
  ['milestones = [{ name = "a", predicate = { port = 1 }, weight = 0 }]', /above 0/],
  ['milestones = [{ name = "a", predicate = { port = 1 } }, { name = "a", predicate = { port = 2 } }]', /stands twice/],
  ["milestones_cap = 0.3", /sandlot\.milestones_cap = 0\.3 stands without any milestone; declare/],
  ['milestones_cap = 0.6\nmilestones = [{ name = "a", predicate = { port = 1 } }]', /at most 0\.5/],
  ['milestones_credit = "all"\nmilestones = [{ name = "a", predicate = { port = 1 } }]', /one of shaping, partial/],
])("%s is refused", (toml, message) => {
  expect(() => read(toml)).toThrow(message);
});

const ITEM = '[[judge.items]]\nname = "names-cause"\nquestion = "Does it name the cause?"';

test("a judge is read with its defaults", () => {
  expect(read(`[judge]\nshare = 0.3\n${ITEM}`).judge).toEqual({
    items: [{ name: "names-cause", question: "Does it name the cause?", weight: 1 }],
    share: 0.3,
    votes: 3,
    model: null,
  });
});

test.each<[string, RegExp]>([
  [`[judge]\nshare = 0.4\n${ITEM}`, /above 0 and at most 0\.3; write one such as 0\.2/],
  [`[judge]\n${ITEM}`, /above 0 and at most 0\.3/],
  [`[judge]\nshare = 0.2\nvotes = 4\n${ITEM}`, /an odd whole number/],
  ["[judge]\nshare = 0.2", /list of tables/],
  ["[judge]\nshare = 0.2\nitems = []", /list of tables/],
  [
    '[judge]\nshare = 0.2\n[[judge.items]]\nname = "a"\nquestion = "Rate the style."',
    /one question that yes or no answers/,
  ],
  [`[judge]\nshare = 0.2\n${ITEM}\n${ITEM}`, /judge\.items\[1\]\.name = "names-cause" stands twice; give each item/],
])("the judge %j is refused", (toml, message) => {
  expect(() => read(toml)).toThrow(message);
});
