/**
 * The services of a task in a clean subject sandbox: started from the artifacts, restarted on demand, and at the end
 * frozen, so that the database files they kept can be taken out as data. Whatever a service does is a value.
 */
import { Failure, toFailure } from "../core/errors.ts";
import type { SandboxProcess } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { ServiceSpec } from "../core/task.ts";
import type { GradeRequest } from "../core/verifier.ts";
import { type HttpProber, startHttpProber } from "./http-prober.ts";
import type { DatabaseFile } from "./sql-database.ts";
import { prepareSubject, SUBJECT_ENVIRONMENT } from "./subject-sandbox.ts";

const OUTPUT_BYTES_MAX = 64 * 1024;
const SAID_CHARACTERS_MAX = 400;
const END_MS = 20_000;
const READY_TURN_MS = 200;

/** The agent's services, as they run for the probes. */
export interface HttpServices {
  readonly prober: HttpProber;
  /** Why a service is not there; null when all could be connected to. */
  start(): Promise<string | null>;
  /** Ends whatever the product runs, and starts the services again. */
  restart(): Promise<string | null>;
  /** The end of what the services have printed, for people. */
  said(): string;
  /** Nothing of the product runs afterwards, and no request can be sent. Null where the agent left no such file. */
  freezeAndTake(path: string): Promise<DatabaseFile | null>;
}

/** Where services are started, and until when. */
export interface HttpPlace {
  readonly sandbox: Sandbox;
  readonly runtime: Runtime;
  readonly grade: GradeRequest;
  readonly specs: readonly ServiceSpec[];
  /** Hard end of what is started. */
  readonly timeoutMs: number;
}

/** Prepares the sandbox and its prober; nothing of the product runs yet. Throws `verifier_crashed`, sandbox failures. */
export async function httpServices(place: HttpPlace): Promise<HttpServices> {
  const { sandbox, runtime, grade, specs, timeoutMs } = place;
  // Before anything of the agent lies there: if it does not start now, no artifact is the reason.
  const prober = await startHttpProber(sandbox, runtime, timeoutMs, grade.signal);
  await prepareSubject(sandbox, grade);
  let running: Running[] = [];
  const start = async (): Promise<string | null> => {
    running = [];
    for (const spec of specs) {
      const service = await launch(spec, place);
      if (service === null) return `the service ${spec.name} was not started: its sandbox was ended`;
      running.push(service);
      if (!(await isReady(prober, service, spec, runtime))) {
        return `the service ${spec.name} did not answer on port ${spec.port} within ${spec.readyMs} ms`;
      }
    }
    return null;
  };
  return {
    prober,
    start,
    restart: async () => {
      await endAll(place, running);
      return start();
    },
    said: () =>
      running
        .map((service) => service.said())
        .filter((text) => text !== "")
        .join("\n"),
    freezeAndTake: async (path) => {
      await prober.close();
      return takeDatabase(place, path);
    },
  };
}

/** In short turns, so that a service that has failed is not waited for; one that went into the background is. */
async function isReady(
  prober: HttpProber,
  service: Running,
  { port, readyMs }: ServiceSpec,
  runtime: Runtime,
): Promise<boolean> {
  const endMs = runtime.monotonic() + readyMs;
  for (let left = readyMs; left > 0; left = endMs - runtime.monotonic()) {
    if (await prober.isReady(port, Math.min(left, READY_TURN_MS))) return true;
    if (service.hasFailed()) return false;
  }
  return false;
}

interface Running {
  readonly ended: Promise<void>;
  /** Whether it has ended otherwise than with exit code 0. */
  hasFailed(): boolean;
  kill(): void;
  said(): string;
}

/** Null when the product has ended its own sandbox. */
async function launch(spec: ServiceSpec, { sandbox, grade, timeoutMs }: HttpPlace): Promise<Running | null> {
  let said = "";
  let hasFailed = false;
  let process: SandboxProcess;
  try {
    process = await sandbox.start(spec.argv, {
      user: "subject",
      cwd: spec.cwd,
      envVars: { ...SUBJECT_ENVIRONMENT, ...grade.task.envVars, ...spec.envVars },
      timeoutMs,
      outputBytesMax: OUTPUT_BYTES_MAX,
      signal: grade.signal,
      onOutput: (_stream, bytes) => {
        said = (said + Buffer.from(bytes).toString("utf8")).slice(-SAID_CHARACTERS_MAX);
      },
    });
  } catch (error) {
    if (toFailure(error).code === "sandbox_killed") return null;
    throw error;
  }
  const ended = process.result.then(
    (result) => {
      hasFailed = result.exitCode !== 0;
      said = `${said}\n${spec.name}: ${result.startError ?? result.signal ?? `exit code ${result.exitCode}`}`.trim();
    },
    (error) => {
      if (toFailure(error).code !== "sandbox_killed") throw error;
      hasFailed = true;
      said = `${spec.name}: ended its own sandbox`;
    },
  );
  ended.catch(() => undefined);
  return {
    ended,
    hasFailed: () => hasFailed,
    kill: () => process.kill("SIGKILL"),
    said: () => said.slice(-SAID_CHARACTERS_MAX),
  };
}

/** By its own user, who may end no process but the product's; one that leaves no room for that is ended by its group. */
async function endAll({ sandbox, grade, runtime }: HttpPlace, running: readonly Running[]): Promise<void> {
  try {
    await sandbox.exec(["/bin/sh", "-c", "kill -9 -1"], {
      user: "subject",
      cwd: "/",
      timeoutMs: END_MS,
      outputBytesMax: 1_000,
      signal: grade.signal,
    });
  } catch (error) {
    if (toFailure(error).code !== "sandbox_killed") throw error;
  }
  for (const service of running) service.kill();
  let cancel = (): void => undefined;
  const late = new Promise<void>((resolve) => {
    cancel = runtime.timer(END_MS, resolve);
  });
  await Promise.race([Promise.all(running.map(({ ended }) => ended)), late]);
  cancel();
}

async function takeDatabase({ sandbox, grade }: HttpPlace, path: string): Promise<DatabaseFile | null> {
  try {
    await sandbox.freeze();
    const bytes = await take(sandbox, path, grade);
    const log = await take(sandbox, `${path}-wal`, grade);
    if (bytes === null) return null;
    return log === null || log.length === 0 ? { bytes } : { bytes, log };
  } catch (error) {
    if (toFailure(error).code === "sandbox_killed") return null;
    throw error;
  }
}

/** Null for whatever the agent's doing explains: absent, too large, no plain file. */
async function take(sandbox: Sandbox, path: string, { task }: GradeRequest): Promise<Uint8Array | null> {
  const status = await sandbox.files.stat(path);
  if (!status.ok || status.value.kind !== "file") return null;
  const read = await sandbox.files.read(path, { bytesMax: task.contract.bytesMax });
  if (read.ok) return read.value;
  if (read.error === "no_space" || read.error === "invalid_path") {
    throw new Failure("artifact_lost", `${path} could not be taken out (${read.error}): ${read.message}`);
  }
  return null;
}
