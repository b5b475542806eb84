/**
 * The few calls of the Engine API that the container provider makes, over `dockerode`, for Docker and Podman alike. Every
 * call has a deadline and every refusal is a Failure with the engine's own words.
 */
import { existsSync } from "node:fs";
import type { Duplex } from "node:stream";
import Docker from "dockerode";
import { Failure, type FailureCode } from "../../core/errors.ts";
import { type Runtime, withDeadline } from "../../core/runtime.ts";

/** An engine under load answers late, not never. */
const CALL_MS_MAX = 60_000;
/** Pulling or importing an image moves gigabytes. */
const IMAGE_MS_MAX = 1_800_000;

/** The two engines that speak the API. */
export type EngineKind = "docker" | "podman";

/** What the engine says of itself, as far as the provider decides by it. */
export interface EngineFacts {
  readonly kind: EngineKind;
  readonly version: string;
  readonly storageDriver: string;
  readonly cgroupVersion: string;
  readonly limits: { readonly memory: boolean; readonly pids: boolean; readonly cpu: boolean };
  /** Registered runtimes by name, with their path where it is told; Podman names some that are not installed. */
  readonly runtimes: Readonly<Record<string, string>>;
}

/** One container as a list shows it. */
export interface ContainerFacts {
  readonly id: string;
  readonly isRunning: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

/** How a container ended, as far as the engine still knows. */
export interface ContainerEnd {
  readonly exitCode: number;
  readonly oomKilled: boolean;
}

/** Each call throws `sandbox_unavailable` or `image_unavailable` in the engine's own words. */
export interface EngineClient {
  readonly socketPath: string;
  facts(): Promise<EngineFacts>;
  createContainer(name: string | null, options: Docker.ContainerCreateOptions): Promise<string>;
  /** The container's standard streams, multiplexed; attach before the start, so that no byte is missed. */
  attach(id: string): Promise<Duplex>;
  start(id: string): Promise<void>;
  /** Null when the container is gone. */
  endOf(id: string): Promise<ContainerEnd | null>;
  /** Kills and removes, and resolves once the engine no longer knows the container. True when it was there. */
  remove(id: string): Promise<boolean>;
  /** Containers that carry the label, ended ones too. */
  list(label: string): Promise<readonly ContainerFacts[]>;
  /** Its id, or null when the engine has no image of that name. */
  findImage(
    reference: string,
  ): Promise<{ readonly id: string; readonly config: Docker.ImageInspectInfo["Config"] } | null>;
  pullImage(reference: string, signal: AbortSignal): Promise<void>;
  /** Makes an image of a tar stream of one root folder, under `repository:tag`. */
  importImage(tar: NodeJS.ReadableStream, repository: string, tag: string): Promise<string>;
}

/** Where the engines listen, in the order they are tried; `DOCKER_HOST` comes first when it names a Unix socket. */
export function socketCandidates(kind: EngineKind | undefined): readonly string[] {
  const named = process.env["DOCKER_HOST"];
  const session = process.env["XDG_RUNTIME_DIR"];
  const podman = [...(session === undefined ? [] : [`${session}/podman/podman.sock`]), "/run/podman/podman.sock"];
  const docker = [
    ...(named?.startsWith("unix://") ? [named.slice("unix://".length)] : []),
    "/var/run/docker.sock",
    ...(session === undefined ? [] : [`${session}/docker.sock`]),
  ];
  return kind === "docker" ? docker : kind === "podman" ? podman : [...docker, ...podman];
}

/** The first that is there. Throws `environment_missing` with all that were looked for. */
export function findSocket(kind: EngineKind | undefined): string {
  const candidates = socketCandidates(kind);
  const found = candidates.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Failure(
    "environment_missing",
    `No container engine listens here (looked for ${candidates.join(", ")}). Start Docker, or: podman system service --time=0`,
  );
}

/** Connects with its first call. */
export function engineClient(runtime: Runtime, socketPath: string): EngineClient {
  const docker = new Docker({ socketPath });
  const call = <T>(what: string, work: () => Promise<T>, ms = CALL_MS_MAX): Promise<T> =>
    withDeadline(
      runtime,
      ms,
      () =>
        new Failure("sandbox_unavailable", `The container engine at ${socketPath} did not ${what} in ${ms / 1000} s.`),
      work,
    ).catch((error: unknown) => {
      throw asFailure(error, what, socketPath);
    });
  return {
    socketPath,
    facts: () => call("tell what it is", () => factsOf(docker)),
    createContainer: async (name, options) =>
      (await call("create a container", () => createContainer(docker, name, options))).id,
    attach: (id) => call("attach to a container", () => attach(docker, id)),
    start: async (id) => void (await call("start a container", () => docker.getContainer(id).start())),
    endOf: (id) => call("inspect a container", () => endOf(docker, id)),
    remove: (id) => call("remove a container", () => remove(runtime, docker, id)),
    list: (label) => call("list its containers", () => list(docker, label)),
    findImage: (reference) => call("inspect an image", () => findImage(docker, reference)),
    pullImage: (reference, signal) => call("pull an image", () => pull(docker, reference, signal), IMAGE_MS_MAX),
    importImage: (tar, repository, tag) =>
      call("import an image", () => importImage(docker, tar, repository, tag), IMAGE_MS_MAX),
  };
}

/** Not the options alone: they would be the query as well as the body, and a query has its length. */
function createContainer(
  docker: Docker,
  name: string | null,
  options: Docker.ContainerCreateOptions,
): Promise<Docker.Container> {
  const apart = { _query: name === null ? {} : { name }, _body: options };
  return docker.createContainer(apart as Docker.ContainerCreateOptions);
}

function statusOf(error: unknown): number | null {
  const status = (error as { readonly statusCode?: unknown } | null)?.statusCode;
  return typeof status === "number" ? status : null;
}

function asFailure(error: unknown, what: string, socketPath: string): Failure {
  if (error instanceof Failure) return error;
  const message = error instanceof Error ? error.message.trim() : String(error);
  const code: FailureCode = what.endsWith("an image") ? "image_unavailable" : "sandbox_unavailable";
  return new Failure(code, `The container engine at ${socketPath} could not ${what}: ${message}.`, { cause: error });
}

async function factsOf(docker: Docker): Promise<EngineFacts> {
  const [version, info] = await Promise.all([docker.version(), docker.info()]);
  const parts = (version as { readonly Components?: readonly { readonly Name: string }[] }).Components ?? [];
  const runtimes = (info.Runtimes ?? {}) as Readonly<Record<string, { readonly path?: string }>>;
  return {
    kind: parts.some(({ Name }) => /podman/i.test(Name)) ? "podman" : "docker",
    version: version.Version,
    storageDriver: String(info.Driver),
    cgroupVersion: String(info.CgroupVersion ?? "1"),
    limits: {
      memory: info.MemoryLimit === true,
      pids: info.PidsLimit === true,
      cpu: info.CpuCfsQuota === true,
    },
    runtimes: Object.fromEntries(Object.entries(runtimes).map(([name, { path }]) => [name, path ?? ""])),
  };
}

/**
 * Not dockerode's own attach: it sends its options as the request's body too, which an engine hands to the container as
 * the first bytes of its input.
 */
function attach(docker: Docker, id: string): Promise<Duplex> {
  const dial = {
    path: `/containers/${id}/attach?`,
    method: "POST",
    options: { _query: { stream: 1, stdin: 1, stdout: 1, stderr: 1 } },
    file: Buffer.alloc(0),
    hijack: true,
    isStream: true,
    statusCodes: { 101: true, 200: true, 404: "no such container", 500: "server error" },
  };
  return new Promise((resolve, reject) => {
    docker.modem.dial(dial, (error: Error | null, stream: unknown) => {
      if (error === null) resolve(stream as Duplex);
      else reject(error);
    });
  });
}

async function endOf(docker: Docker, id: string): Promise<ContainerEnd | null> {
  try {
    const { State } = await docker.getContainer(id).inspect();
    return { exitCode: State.ExitCode, oomKilled: State.OOMKilled };
  } catch (error) {
    if (statusOf(error) === 404) return null;
    throw error;
  }
}

/** Not there any more, or already on its way out. */
const REMOVAL_IS_UNDER_WAY: readonly (number | null)[] = [404, 409];
const REMOVAL_ROUND_MS = 20;

async function remove(runtime: Runtime, docker: Docker, id: string): Promise<boolean> {
  const container = docker.getContainer(id);
  let wasThere = true;
  for (let round = 0; ; round += 1) {
    try {
      await container.remove({ force: true, v: true });
      return wasThere;
    } catch (error) {
      const status = statusOf(error);
      if (status === 404) return round > 0 && wasThere;
      /* Podman says 500 while its own clean-up of an ended container holds the lock. */
      if (!REMOVAL_IS_UNDER_WAY.includes(status) && round >= 5) throw error;
      wasThere = true;
      await runtime.sleep(Math.min(1_000, REMOVAL_ROUND_MS * 2 ** Math.min(round, 6)));
    }
  }
}

async function list(docker: Docker, label: string): Promise<readonly ContainerFacts[]> {
  const found = await docker.listContainers({ all: true, filters: { label: [label] } });
  return found.map(({ Id, State, Labels }) => ({ id: Id, isRunning: State === "running", labels: Labels ?? {} }));
}

async function findImage(docker: Docker, reference: string): ReturnType<EngineClient["findImage"]> {
  try {
    const { Id, Config } = await docker.getImage(reference).inspect();
    return { id: Id, config: Config };
  } catch (error) {
    if (statusOf(error) === 404) return null;
    throw error;
  }
}

/** An engine tells a failed pull or import as one line of a successful answer. */
async function followed(docker: Docker, stream: NodeJS.ReadableStream): Promise<readonly Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    docker.modem.followProgress(stream, (error: Error | null, events: Record<string, unknown>[]) => {
      if (error === null || error === undefined) resolve(events ?? []);
      else reject(error);
    });
  });
}

async function pull(docker: Docker, reference: string, signal: AbortSignal): Promise<void> {
  await followed(docker, await docker.pull(reference, { abortSignal: signal }));
}

async function importImage(
  docker: Docker,
  tar: NodeJS.ReadableStream,
  repository: string,
  tag: string,
): Promise<string> {
  const events = await followed(docker, await docker.importImage(tar, { repo: repository, tag }));
  const last = events.at(-1) ?? {};
  const id = [last["id"], last["status"]].find(
    (each) => typeof each === "string" && /^(sha256:)?[0-9a-f]{64}$/.test(each),
  );
  if (typeof id !== "string") throw new Error(`the engine gave no image id but ${JSON.stringify(last)}`);
  await docker.getImage(id).tag({ repo: repository, tag });
  return id;
}
