/**
 * The three identities of a task folder. `taskHash` covers every byte of the folder; `agentHash` what the agent meets;
 * `verifierHash` what grades. A change of the verifier leaves `agentHash` as it was, so old episodes stay comparable.
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "../core/json.ts";
import type { Task } from "../core/task.ts";
import type { FolderFile } from "../core/task-folder.ts";
import type { AgentSide } from "./agent-side.ts";

/** What the agent meets: what it may use, and for how long. */
type AgentFields = AgentSide & {
  readonly limits: Pick<Task["limits"], "turnsMax" | "tokensMax" | "agentMs" | "commandMs" | "outputBytesPerTurn">;
};

/** The fields of a task that decide its score. */
type GradingSide = Pick<Task, "contract" | "threshold"> & {
  readonly gradingSeed: string;
  readonly gradeMs: number;
  readonly tiers: Task["verifier"]["tiers"];
  readonly manifest: unknown;
  readonly services: unknown;
  readonly protectedPaths: readonly string[];
  readonly milestones: Task["milestones"] | null;
  readonly judge: Task["judge"] | null;
  readonly envVars?: Readonly<Record<string, string>>;
};

/** SHA-256 in hex over the sorted list of (path, executable bit, SHA-256 of the bytes). Order of `files` is no matter. */
export function filesHash(files: readonly FolderFile[]): string {
  const lines = files
    .map(({ path, bytes, isExecutable }) => [path, isExecutable, createHash("sha256").update(bytes).digest("hex")])
    .map((line) => canonicalJson(line))
    .sort();
  return sha256(lines.join("\n"));
}

export function taskHashes(
  files: readonly FolderFile[],
  agent: AgentFields,
  grading: GradingSide,
): { readonly hash: string; readonly agentHash: string; readonly verifierHash: string } {
  const isAgents = ({ path }: FolderFile) => path === "instruction.md" || /^(environment|visible)\//.test(path);
  const isGrading = ({ path }: FolderFile) => /^(tests|verifier)\//.test(path);
  return {
    hash: filesHash(files),
    agentHash: sha256(`${filesHash(files.filter(isAgents))}\n${canonicalJson(agent)}`),
    verifierHash: sha256(`${filesHash(files.filter(isGrading))}\n${canonicalJson(grading)}`),
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
