/**
 * Keeps the shape of the house by reading its sources: who may import whom, no cycles, no inner barrels, no long
 * files, no clock or randomness outside the runtime, a header on every file. Function length, `any` and floating
 * promises are Biome's; unused files are knip's. A folder boundary that no test holds rots.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const LINES_MAX = 400;

/** Layers a file of this layer may import besides its own; `app` wires everything. */
const ADAPTERS = ["task", "sandbox", "policy", "verifier", "trainer", "store", "observe", "runtime"];
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: [],
  episode: ["core"],
  rollout: ["core", "episode"],
  run: ["core", "episode", "rollout"],
  app: ["core", "episode", "rollout", "run", "native", ...ADAPTERS],
  server: ["core", "episode", "rollout", "run", "app"],
  gateway: ["core", "episode", "rollout", "run", "app"],
  // A terminal is always on the system's clock.
  cli: ["core", "episode", "rollout", "run", "app", "runtime"],
  index: ["core", "episode", "rollout", "run", "app", ...ADAPTERS],
  ...Object.fromEntries(ADAPTERS.map((adapter) => [adapter, ["core"]])),
  sandbox: ["core", "native"],
  policy: ["core", "native"],
  native: ["core"],
  // Generators draw task folders, and one module writes them.
  tasks: ["core", "task"],
};

interface Source {
  readonly path: string;
  readonly text: string;
  /** Paths from the root of relative imports. */
  readonly imports: readonly string[];
}

const sources = ["src", "native", "tasks", "test", "bench", "scripts"].flatMap((folder) => walk(join(ROOT, folder)));
const production = sources.filter(
  ({ path }) => /^(src|native|tasks)\//.test(path) && isTypeScript(path) && !isTest(path),
);

function walk(folder: string): Source[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry): Source[] => {
    const full = join(folder, entry.name);
    if (entry.isDirectory()) return ["node_modules", "results"].includes(entry.name) ? [] : walk(full);
    if (!/\.(ts|mjs|c|h|py|sh)$/.test(entry.name)) return [];
    const text = readFileSync(full, "utf8");
    const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");
    const path = relative(ROOT, full);
    return [{ path, text, imports: specifiers.map((name) => normalize(join(dirname(path), name))) }];
  });
}

/** Of a task that a generator wrote; its sources are the generator's. */
function isDrawn(path: string): boolean {
  const folder = /^tasks\/(?!generator\/)[^/]+\/[^/]+\//.exec(path)?.[0];
  return folder !== undefined && readFileSync(join(ROOT, folder, "task.toml"), "utf8").includes("[sandlot.generator]");
}

function isTypeScript(path: string): boolean {
  return path.endsWith(".ts");
}

function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.includes("/test/") || path.endsWith("-support.ts");
}

/** `src/core/x.ts` is of layer `core`; `src/app.ts` and `src/app-….ts` of `app`; `native/build.ts` of `native`. */
function layer(path: string): string {
  const [top = "", second = ""] = path.split("/");
  if (top !== "src") return top;
  return second.endsWith(".ts") ? (second.replace(/\.ts$/, "").split("-")[0] ?? second) : second;
}

/** Code without comments and string contents, so that a word in prose is not taken for a call. */
function codeOf(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/\/\/.*$/gm, "")
    .replaceAll(/"(?:[^"\\\n]|\\.)*"/g, '""');
}

test("imports follow the arrows of the design", () => {
  const wrong = production.flatMap(({ path, imports }) => {
    const from = layer(path);
    const allowed = ALLOWED[from];
    if (allowed === undefined) return [`${path}: folder "${from}" is not a layer of the design`];
    return imports
      .filter((target) => layer(target) !== from && !allowed.includes(layer(target)))
      .map((target) => `${path} imports ${target}`);
  });
  expect(wrong).toEqual([]);
});

test("what judges sees no reasoning: it imports no monitor, no transcript, no policy, and its input has no such field", () => {
  const judges = production.filter(({ path }) => /^src\/verifier\/(rubric|judge)/.test(path));
  expect(judges.length).toBeGreaterThan(2);
  const wrong = judges.flatMap(({ path, imports, text }) => [
    ...imports
      .filter((target) => /^src\/(observe|policy|episode)\/|^src\/core\/(trajectory|environment|policy)/.test(target))
      .map((target) => `${path} imports ${target}`),
    ...(/\b\w*(reasoning|thought|transcript|monitor)\w*\s*[?:]/i.test(codeOf(text)) ? [`${path} names reasoning`] : []),
  ]);
  expect(wrong).toEqual([]);
  const input = judges
    .flatMap(({ text }) => /export interface JudgeInput \{([\s\S]*?)\n\}/.exec(text)?.[1] ?? [])
    .join();
  const fields = [...codeOf(input).matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => name);
  expect(fields).toEqual(["spec", "artifacts", "tests", "knownPaths", "gradingSeed", "signal"]);
});

test("no import runs in a circle", () => {
  const graph = new Map(production.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
    if (done.has(path) || trail.includes(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  expect(circles).toEqual([]);
});

test("src/index.ts is the only barrel of the product", () => {
  const barrels = production.filter(({ path }) => path.endsWith("/index.ts") && path !== "src/index.ts");
  expect(barrels.map(({ path }) => path)).toEqual([]);
});

test(`no file is over ${LINES_MAX} lines`, () => {
  const long = sources
    .filter(({ path }) => !isDrawn(path))
    .filter(({ text }) => text.split("\n").length - 1 > LINES_MAX)
    .map(({ path, text }) => `${path}: ${text.split("\n").length - 1} lines`);
  expect(long).toEqual([]);
});

test("the clock, timers, randomness and ids come from the runtime alone", () => {
  const direct =
    /\b(Date\.now|new Date\(\)|performance\.now|setTimeout|setInterval|Math\.random|randomUUID|randomBytes)\s*\(/;
  const wrong = production
    .filter(({ path }) => path.startsWith("src/") && !path.startsWith("src/runtime/") && path !== "src/core/runtime.ts")
    .flatMap(({ path, text }) => {
      const found = direct.exec(codeOf(text).replaceAll("runtime.randomBytes(", "runtime.bytes("));
      return found === null ? [] : [`${path}: ${found[1]}`];
    });
  expect(wrong).toEqual([]);
});

test("the vocabulary does no input or output", () => {
  const wrong = production
    .filter(({ path }) => path.startsWith("src/core/"))
    .filter(
      ({ text }) =>
        /from "(?!\.\/|node:assert|node:crypto|node:util)/.test(text) || /\bprocess\.|\bconsole\./.test(codeOf(text)),
    );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test("every file says at its head what it is for", () => {
  const bare = sources
    .filter(({ path }) => !isTest(path) && /^(src|native|tasks\/generator|bench|scripts)\//.test(path))
    .filter(({ text }) => !/^(#!.*\n)?\s*(\/\*\*?|\/\/|#|""")/.test(text))
    .map(({ path }) => path);
  expect(bare).toEqual([]);
});

test("nothing is left to do in a comment, skipped in a test, or silenced for the compiler", () => {
  const marks =
    /\b(TODO|FIXME|XXX)\b|\b(test|it|describe|suite)\.(only|skip)\(|@ts-(ignore|expect-error|nocheck)|\bas any\b|: any\b/;
  const wrong = sources
    .filter(({ path }) => path !== "test/tidy.test.ts")
    .flatMap(({ path, text }) => {
      const line = text.split("\n").findIndex((each) => marks.test(each));
      return line < 0 ? [] : [`${path}:${line + 1}: ${text.split("\n")[line]?.trim()}`];
    });
  expect(wrong).toEqual([]);
});

test("folders and files are kebab-case", () => {
  const wrong = production.filter(({ path }) => !/^[a-z0-9/.-]+$/.test(path)).map(({ path }) => path);
  expect(wrong).toEqual([]);
});
