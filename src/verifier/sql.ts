/**
 * The `sql` template: the agent's text, a query or a migration, runs on fresh databases in a subject sandbox, and the
 * platform compares what comes back. Expected rows never enter that sandbox; a reference runs in a sandbox of its own.
 */
import { Failure } from "../core/errors.ts";
import { isBelow } from "../core/sandbox-path.ts";
import type { Task } from "../core/task.ts";
import type { GradeRequest, TestResult, TestStatus } from "../core/verifier.ts";
import { placeCluster } from "./sql-cluster.ts";
import { sqlSandboxRequest } from "./sql-database.ts";
import { migrationDifference, queryDifference } from "./sql-difference.ts";
import { runSql, type SqlAnswers, type SqlReply, type SqlRequest } from "./sql-engine.ts";
import { readSqlTest, type SqlTest } from "./sql-spec.ts";
import type { Template, TemplateParts } from "./template.ts";

const TEXT_BYTES_MAX = 256 * 1024;
const DETAIL_CHARACTERS_MAX = 500;

/** Grades each `NAME.sql.json` as one test that all its data sets must pass. */
export function sqlTemplate({ runtime }: TemplateParts): Template {
  return async (input, sandboxes) => {
    const deadline = runtime.monotonic() + input.gradeMs;
    const sandboxIds: string[] = [];
    let imageHash = "";
    const run = (request: SqlRequest, role: "subject" | "verifier"): Promise<SqlAnswers> => {
      const { signal } = input.request;
      return sandboxes.withSandbox(sqlSandboxRequest(input.request, role), signal, async (sandbox) => {
        sandboxIds.push(sandbox.id);
        imageHash = sandbox.info.imageHash;
        const place = { sandbox, runtime, signal };
        const cluster = request.engine === "postgresql" ? await placeCluster(place) : null;
        return runSql(cluster === null ? request : { ...request, cluster }, place);
      });
    };
    const tests: TestResult[] = [];
    for (const { id, tier } of input.spec.manifest) {
      const startedMs = runtime.monotonic();
      const test = readSqlTest(input.spec, id);
      const end = startedMs >= deadline ? OUT_OF_TIME : await endOf(id, test, input.request, run);
      const visibility = input.spec.tiers.find((one) => one.name === tier)?.visibility ?? "hidden";
      tests.push({ id, tier, visibility, ...end, durationMs: runtime.monotonic() - startedMs });
    }
    return { tests, sandboxIds, imageHash };
  };
}

interface TestEnd {
  readonly status: TestStatus;
  readonly detail: string;
}

type Run = (request: SqlRequest, role: "subject" | "verifier") => Promise<SqlAnswers>;

const OUT_OF_TIME: TestEnd = { status: "timeout", detail: "the time for grading was used up" };

async function endOf(id: string, test: SqlTest, request: GradeRequest, run: Run): Promise<TestEnd> {
  for (const path of test.kind === "query" ? [test.query] : [test.forward, test.back]) {
    if (path !== undefined) requireCollected(id, path, request.task);
  }
  const sql = artifactText(request, test.kind === "query" ? test.query : test.forward);
  if (!sql.ok) return { status: "failed", detail: sql.why };
  const back = test.kind === "query" || test.back === undefined ? null : artifactText(request, test.back);
  if (back?.ok === false) return { status: "failed", detail: back.why };
  const wanted = await references(id, test, run);
  const answers = await run(sqlRequest(id, test, sql.text, back?.text ?? null), "subject");
  if (answers.kind === "died") return { status: answers.isTimeout ? "timeout" : "error", detail: answers.detail };
  for (const [index, dataset] of test.datasets.entries()) {
    const found = answers.replies[index];
    const difference = found === undefined ? "no answer" : differenceOf(test, index, found, wanted[index] ?? null);
    if (difference === null) continue;
    const detail = `on the data set "${dataset.name}" ${difference}`.slice(0, DETAIL_CHARACTERS_MAX);
    return { status: "failed", detail };
  }
  return { status: "passed", detail: "" };
}

function differenceOf(test: SqlTest, index: number, found: SqlReply, wanted: SqlReply | null): string | null {
  if ("refused" in found) return `the text was refused: ${found.refused.replace(/[^ -~]/g, "?")}`;
  return test.kind === "query" ? queryDifference(test, index, found, wanted) : migrationDifference(found, wanted, test);
}

/** What the task's own answer gives on each data set; empty where all rows are written down. Holds no agent's byte. */
async function references(id: string, test: SqlTest, run: Run): Promise<readonly SqlReply[]> {
  if (test.referenceText === null) return [];
  const answers = await run(sqlRequest(id, test, test.referenceText, null), "verifier");
  const replies = answers.kind === "replies" ? answers.replies : [];
  const refused = replies.find((one) => "refused" in one);
  if (answers.kind === "died" || refused !== undefined) {
    const why =
      answers.kind === "died" ? answers.detail : refused !== undefined && "refused" in refused ? refused.refused : "";
    throw new Failure("task_invalid", `tests/${id}: the reference ${test.reference} fails: ${why}.`);
  }
  return replies;
}

function sqlRequest(id: string, test: SqlTest, sql: string, back: string | null): SqlRequest {
  return {
    engine: test.engine,
    kind: test.kind,
    sql,
    back,
    checks: test.kind === "migration" ? test.checks : [],
    timeoutMs: test.timeoutMs,
    datasets: test.datasets.map(({ name }, index) => ({
      // Told back when it cannot be loaded.
      name: `tests/${id}#${name}`,
      schema: test.schemaText,
      data: test.dataTexts[index] ?? "",
    })),
  };
}

/** A contract that misses what a test reads would fail every agent, and no agent could help it. */
function requireCollected(id: string, path: string, { contract, workdir, key }: Task): void {
  const roots =
    contract.state === "workdir"
      ? [workdir]
      : contract.state === "declared"
        ? contract.files.map((rule) => rule.path)
        : [];
  if (roots.some((root) => isBelow(path, root))) return;
  const message = `tests/${id} reads ${path}, which the contract of ${key} does not collect; name it in [sandlot.contract] files of task.toml.`;
  throw new Failure("task_invalid", message);
}

type Text = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string };

function artifactText({ artifacts }: GradeRequest, path: string | undefined): Text {
  const name = path ?? "the submitted answer";
  const bytes =
    path === undefined
      ? Buffer.from(artifacts.answer ?? "", "utf8")
      : artifacts.files.find((file) => file.path === path)?.bytes;
  const reason = artifacts.refused?.find((one) => one.path === path)?.reason;
  if (bytes === undefined)
    return { ok: false, why: `the agent left no ${name}${reason === undefined ? "" : `: ${reason}`}` };
  if (bytes.length > TEXT_BYTES_MAX) return { ok: false, why: `${name} has more than ${TEXT_BYTES_MAX} bytes` };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.trim() === "" ? { ok: false, why: `${name} is empty` } : { ok: true, text };
  } catch {
    return { ok: false, why: `${name} is no UTF-8 text` };
  }
}
