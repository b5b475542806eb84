/**
 * The public API, and nothing but re-exports: environments in five calls, the episode loop, policies, tools, renderers,
 * and the vocabulary they are written in.
 */
export { type Environments, openEnvironments } from "./app-environment.ts";
export type {
  Action,
  Environment,
  ExecutionResult,
  LimitsLeft,
  Message,
  Observation,
  State,
  TokenSpan,
  Tool,
  ToolCall,
  ToolContext,
  ToolDefinition,
  ToolResult,
  ToolSession,
} from "./core/environment.ts";
export type { EpisodePlan, EpisodeRunner } from "./core/episode.ts";
export { FAILURES, Failure, type FailureClass, type FailureCode, failureClass } from "./core/errors.ts";
export type { ExecOptions, ExecResult, SandboxProcess, Shell } from "./core/exec.ts";
export { type Outcome, type OutcomeClass, outcomeClass, STOP_REASONS, type StopReason } from "./core/outcome.ts";
export type { ActContext, Policy, PolicyDescription, Tokenizer, TokenRenderer } from "./core/policy.ts";
export type { PolicyBackend, PolicySampler, PolicySnapshot, PolicyTrainer } from "./core/policy-backend.ts";
export type { Runtime } from "./core/runtime.ts";
export type { Sandbox, SandboxProvider, SandboxRequest } from "./core/sandbox.ts";
export type { SandboxFiles } from "./core/sandbox-files.ts";
export type { PoolShape, SandboxLease, SandboxPool } from "./core/sandbox-pool.ts";
export { isSolved, type Script, type Task, type TaskGenerator } from "./core/task.ts";
export type { TokenSegment, Trajectory, TrajectoryRecord } from "./core/trajectory.ts";
export type { Artifacts, GradeRequest, Verdict, VerdictMemory, Verifier } from "./core/verifier.ts";
export { type EnvironmentOptions, openEnvironment } from "./episode/environment.ts";
export { createGrader, type Grader, type GraderOptions } from "./episode/grade.ts";
export { createEpisodeRunner, type EpisodeRunnerOptions } from "./episode/run-episode.ts";
export { nopPolicy } from "./policy/nop.ts";
export { type OpenaiPolicyOptions, openaiPolicy } from "./policy/openai.ts";
export { scriptPolicy } from "./policy/oracle.ts";
export { chatMessages, chatTools, parseChatTurn } from "./policy/renderer/chat-tools.ts";
export { plainRenderer } from "./policy/renderer/plain.ts";
export { type ReplayDifference, replayPolicy } from "./policy/replay.ts";
export { type SampledPolicyOptions, sampledPolicy } from "./policy/sampled.ts";
export { scriptAction, scriptCall } from "./policy/script-action.ts";
export { type ScriptedAnswer, scriptedPolicy } from "./policy/scripted.ts";
export { editTool } from "./policy/tool/edit.ts";
export { shellTool } from "./policy/tool/shell.ts";
export { submitTool } from "./policy/tool/submit.ts";
export { viewTool } from "./policy/tool/view.ts";
export { systemRuntime } from "./runtime/system.ts";
export { loadGenerator } from "./task/generator.ts";
export { readTaskFolder } from "./task/read-folder.ts";
