/**
 * What of `task.toml` the agent meets: user, work folder, variables, network, resources, what must answer before it
 * begins, and what it is offered beside its tools.
 */
import type { ImageReference, SandboxLimits } from "../core/sandbox.ts";
import type { Healthcheck, McpServer, Task } from "../core/task.ts";
import { networkOf } from "./network-fields.ts";
import { cleanPath } from "./task-environment.ts";
import type { TaskToml } from "./task-schema.ts";
import type { TomlDocument } from "./task-toml.ts";
import { wrong } from "./tiers.ts";

export type AgentSide = Pick<
  Task,
  | "image"
  | "workdir"
  | "agentUser"
  | "envVars"
  | "network"
  | "agentNetwork"
  | "resources"
  | "isDeadlineShown"
  | "healthcheck"
  | "mcpServers"
  | "skillsFolder"
>;

/** What the image brings along. */
export interface AgentImage {
  readonly image: ImageReference;
  /** The folder that it works in; null where that is not known. */
  readonly workdir: string | null;
}

/** Throws `task_invalid`. */
export function agentSideOf(
  document: TomlDocument<TaskToml>,
  { image, workdir }: AgentImage,
  resources: SandboxLimits,
): AgentSide {
  const { environment, sandlot } = document.value;
  const { network, agentNetwork } = networkOf(document);
  const servers = (environment?.mcp_servers ?? []).map((server, index) => serverOf(document, server, index));
  return {
    image,
    workdir: folderOf(document, "workdir", environment?.workdir ?? workdir ?? "/app"),
    agentUser: agentUserOf(document),
    envVars: environment?.env ?? {},
    network,
    ...(agentNetwork === null ? {} : { agentNetwork }),
    resources,
    isDeadlineShown: sandlot?.deadline_shown ?? true,
    ...(environment?.healthcheck === undefined ? {} : { healthcheck: healthcheckOf(environment.healthcheck) }),
    ...(servers.length === 0 ? {} : { mcpServers: servers }),
    ...(environment?.skills_dir === undefined
      ? {}
      : { skillsFolder: folderOf(document, "skills_dir", environment.skills_dir) }),
  };
}

type Declared = NonNullable<TaskToml["environment"]>;
type Server = NonNullable<Declared["mcp_servers"]>[number];

function healthcheckOf(declared: NonNullable<Declared["healthcheck"]>): Healthcheck {
  const ms = (seconds: number | undefined, unset: number): number => Math.round((seconds ?? unset) * 1_000);
  return {
    command: declared.command,
    intervalMs: ms(declared.interval_sec, 5),
    timeoutMs: ms(declared.timeout_sec, 5),
    startPeriodMs: ms(declared.start_period_sec, 0),
    startIntervalMs: ms(declared.start_interval_sec, 5),
    retries: declared.retries ?? 3,
  };
}

function serverOf(document: TomlDocument<TaskToml>, declared: Server, index: number): McpServer {
  const { name, transport = "stdio", url, command, args } = declared;
  const isProgram = transport === "stdio";
  const needed = isProgram ? command : url;
  if (needed === undefined || needed === "" || (isProgram ? url : command) !== undefined) {
    throw wrong(document, ["environment", "mcp_servers", index], {
      value: name,
      message: `has the transport ${transport}, which takes ${isProgram ? "command and args" : "url"} and nothing else`,
      remedy: isProgram ? 'write command = "/usr/bin/notes-mcp"' : 'write url = "http://127.0.0.1:8000/mcp"',
    });
  }
  return isProgram ? { name, transport, argv: [needed, ...(args ?? [])] } : { name, transport, url: needed };
}

function folderOf(document: TomlDocument<TaskToml>, key: "workdir" | "skills_dir", value: string): string {
  const path = cleanPath(value);
  if (path !== null && path !== "/") return path;
  throw wrong(document, ["environment", key], {
    value,
    message: "is not an absolute folder of the sandbox",
    remedy: `write one without .. and other than /, such as "${key === "workdir" ? "/app" : "/skills"}"`,
  });
}

function agentUserOf(document: TomlDocument<TaskToml>): string {
  const user = document.value.agent?.user ?? "agent";
  const isRootAccepted = document.value.sandlot?.risk?.includes("root-agent") ?? false;
  if (user === "agent" || (user === "root" && isRootAccepted)) return user;
  throw wrong(document, ["agent", "user"], {
    value: user,
    message: user === "root" ? "needs the risk to be accepted" : "is not a user of the sandbox",
    remedy: user === "root" ? 'add risk = ["root-agent"] under [sandlot], or write "agent"' : 'write "agent"',
  });
}
