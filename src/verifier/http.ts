/**
 * The `http` template: `integration/NAME.http.json::PROBE` for each probe of a file, see `http-spec.ts`.
 *
 * For each file the services start anew in a clean subject sandbox. The platform sends the requests in their order and
 * compares what comes back; questions to a database come last, on the file as data, in a sandbox where nothing of the
 * product runs. A service that is absent, dies, hangs or floods fails the tests it should have answered.
 */
import type { Runtime } from "../core/runtime.ts";
import type { SandboxPool } from "../core/sandbox-pool.ts";
import type { ServiceSpec } from "../core/task.ts";
import type { TestResult, TestStatus } from "../core/verifier.ts";
import { answerDifference } from "./http-compare.ts";
import { type HttpServices, httpServices } from "./http-services.ts";
import { type HttpProbeFile, type HttpQueryProbe, type HttpRequestProbe, invalid, readProbeFile } from "./http-spec.ts";
import { type DatabaseFile, queryDatabase } from "./sql-database.ts";
import { cellOf, rowsDifference } from "./sql-rows.ts";
import { gradingRequest } from "./subject-sandbox.ts";
import type { Template, TemplateInput, TemplateParts } from "./template.ts";

const DETAIL_CHARACTERS_MAX = 2_048;
/** Of a grading, left for what follows the last probe. */
const MARGIN_SHARE = 0.2;
/** The least that a probe gets which has begun. */
const LAST_MS = 100;
const PROCESSES_MIN = 64;
const MEMORY_BYTES_MIN = 256 * 1024 * 1024;
const TEST_FILE = /\.http\.json$/;

/** What became of one probe. */
interface Probed {
  readonly status: Exclude<TestStatus, "missing" | "skipped">;
  readonly detail: string;
  readonly durationMs: number;
}

const OUT_OF_TIME: Probed = {
  status: "timeout",
  detail: "not sent: the time for grading was used up",
  durationMs: 0,
};

/** Throws `task_invalid` for a malformed probe file, `verifier_crashed`, `artifact_lost`, sandbox failures. */
export function httpTemplate({ runtime }: TemplateParts): Template {
  return async (input, sandboxes) => {
    const files = probeFiles(input);
    const endMs = runtime.monotonic() + input.gradeMs * (1 - MARGIN_SHARE);
    const probed = new Map<string, Probed>();
    const sandboxIds: string[] = [];
    let imageHash = "";
    for (const file of files) {
      // A service that keeps its port closed takes the time of its own file and not that of each.
      if (runtime.monotonic() >= endMs) {
        for (const { name } of file.probes) probed.set(`${file.path}::${name}`, OUT_OF_TIME);
        continue;
      }
      const ran = await probeFile(file, { input, sandboxes, runtime, endMs });
      for (const [name, result] of ran.results) probed.set(`${file.path}::${name}`, result);
      sandboxIds.push(ran.sandboxId);
      imageHash = ran.imageHash;
    }
    const tests = resultsOf(input, probed);
    const expected = new Set(tests.map(({ id }) => id));
    return { tests, sandboxIds, imageHash, extraTests: [...probed.keys()].filter((id) => !expected.has(id)) };
  };
}

interface Probes extends HttpProbeFile {
  readonly path: string;
  readonly port: number;
}

/** All files, read before anything runs. */
function probeFiles({ request, spec }: TemplateInput): readonly Probes[] {
  const { key } = request.task;
  const services = spec.services ?? [];
  return spec.files
    .filter(({ path }) => path.startsWith("/tests/") && TEST_FILE.test(path))
    .map((file) => {
      const path = file.path.slice("/tests/".length);
      const source = { path, taskKey: key, gradingSeed: request.gradingSeed };
      const read = readProbeFile({ ...source, text: Buffer.from(file.bytes).toString("utf8") });
      const service = serviceOf(services, read.service);
      if (service !== undefined) return { ...read, path, port: service.port };
      const names = services.map(({ name }) => name).join(", ") || "none; add [[sandlot.services]]";
      throw invalid(source, "service", `"${read.service ?? ""}" is no service of task.toml (${names})`);
    });
}

function serviceOf(services: readonly ServiceSpec[], name: string | undefined): ServiceSpec | undefined {
  return name === undefined ? services[0] : services.find((service) => service.name === name);
}

interface Parts {
  readonly input: TemplateInput;
  readonly sandboxes: SandboxPool;
  readonly runtime: Runtime;
  /** By the monotonic clock: no probe is begun later. */
  readonly endMs: number;
}

interface FileRun {
  readonly results: ReadonlyMap<string, Probed>;
  readonly sandboxId: string;
  readonly imageHash: string;
}

async function probeFile(file: Probes, parts: Parts): Promise<FileRun> {
  const { input, sandboxes, runtime, endMs } = parts;
  const { request, spec } = input;
  const requests = file.probes.filter((probe): probe is HttpRequestProbe => "request" in probe);
  const queries = file.probes.filter((probe): probe is HttpQueryProbe => "query" in probe);
  const results = new Map<string, Probed>();
  const databases = new Map<string, DatabaseFile | null>();
  const base = gradingRequest(request, "subject");
  const limits = {
    ...base.limits,
    memoryBytes: Math.max(base.limits.memoryBytes, MEMORY_BYTES_MIN),
    processesMax: Math.max(base.limits.processesMax, PROCESSES_MIN),
  };
  const readyMsMax = Math.min(input.gradeMs / 2, Math.max(LAST_MS, endMs - runtime.monotonic()));
  const specs = (spec.services ?? []).map((one) => ({ ...one, readyMs: Math.min(one.readyMs, readyMsMax) }));
  const place = { grade: request, specs, timeoutMs: input.gradeMs, runtime };
  const ran = await sandboxes.withSandbox({ ...base, limits }, request.signal, async (sandbox) => {
    const services = await httpServices({ ...place, sandbox });
    await sendAll(requests, services, file.port, parts, results);
    for (const { query } of queries) {
      if (!databases.has(query.database)) databases.set(query.database, await services.freezeAndTake(query.database));
    }
    await services.prober.close();
    return { sandboxId: sandbox.id, imageHash: sandbox.info.imageHash };
  });
  for (const probe of queries) {
    results.set(probe.name, await ask(probe, databases.get(probe.query.database) ?? null, parts));
  }
  return { ...ran, results };
}

async function sendAll(
  probes: readonly HttpRequestProbe[],
  services: HttpServices,
  port: number,
  { runtime, endMs }: Parts,
  results: Map<string, Probed>,
): Promise<void> {
  let absent = await services.start();
  for (const probe of probes) {
    const startedMs = runtime.monotonic();
    const put = (status: Probed["status"], detail: string): void => {
      results.set(probe.name, { status, detail, durationMs: runtime.monotonic() - startedMs });
    };
    if (startedMs >= endMs) {
      put(OUT_OF_TIME.status, OUT_OF_TIME.detail);
      continue;
    }
    if (probe.restart) absent = await services.restart();
    if (absent !== null) {
      put("failed", `${absent}\n${services.said()}`);
      continue;
    }
    const timeout_ms = Math.min(probe.request.timeout_ms, Math.max(LAST_MS, endMs - startedMs));
    const reply = await services.prober.request(port, { ...probe.request, timeout_ms });
    if (reply.kind === "answer") {
      const difference = answerDifference(reply.answer, probe.expect);
      put(difference === null ? "passed" : "failed", difference ?? "");
    } else put(reply.kind === "late" ? "timeout" : "failed", `${reply.detail}\n${services.said()}`);
  }
}

/** Asks a file the services kept, as data, in a sandbox of its own. */
async function ask(probe: HttpQueryProbe, file: DatabaseFile | null, parts: Parts): Promise<Probed> {
  const { input, sandboxes, runtime } = parts;
  const { database, sql, tables, timeout_ms: timeoutMs } = probe.query;
  const startedMs = runtime.monotonic();
  const ended = (difference: string | null): Probed => {
    const durationMs = runtime.monotonic() - startedMs;
    return { status: difference === null ? "passed" : "failed", detail: difference ?? "", durationMs };
  };
  if (file === null) return ended(`the service left no database file at ${database}`);
  const answer = await queryDatabase(file, { sql, tables, timeoutMs }, sandboxes, input.request, runtime);
  if (answer.kind === "refused") return ended(answer.detail);
  const { rows, ordered, tolerance } = probe.expect;
  const wanted = rows.map((row) => row.map(cellOf));
  return ended(rowsDifference(answer.table, wanted, { isOrdered: ordered, tolerance }));
}

function resultsOf({ spec }: TemplateInput, probed: ReadonlyMap<string, Probed>): readonly TestResult[] {
  return spec.manifest.map(({ id, tier }): TestResult => {
    const visibility = spec.tiers.find(({ name }) => name === tier)?.visibility ?? "hidden";
    const found = probed.get(id);
    if (found === undefined) {
      const detail = "no probe of this name";
      return { id, tier, visibility, status: "missing", durationMs: 0, detail };
    }
    return { id, tier, visibility, ...found, detail: found.detail.trim().slice(0, DETAIL_CHARACTERS_MAX) };
  });
}
