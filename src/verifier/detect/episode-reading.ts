/**
 * The record of an episode as detectors read it: what was placed for the agent, what it left, what it ran turn by turn,
 * and what was recorded outside its reach. Each part is made when it is first asked for. Pure.
 */
import type { DetectorInput } from "../../core/detector.ts";
import type { Evidence, StateChange, TraceEvent } from "../../core/finding.ts";
import { isBelow } from "../../core/sandbox-path.ts";
import type { Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { TestResult } from "../../core/verifier.ts";

/** Of one source; what is longer is read so far. */
const SOURCE_CHARACTERS_MAX = 512 * 1024;
const SOURCES_BYTES_MAX = 8 << 20;

/** A command of the shell tool, or a file written by the edit tool. */
export interface CommandText {
  /** From 1. */
  readonly turn: number;
  readonly text: string;
  readonly exitCode: number | null;
  /** SHA-256 of what it printed. */
  readonly rawBlob: string;
}

/** A text that was graded, beside what was placed in its place. */
export interface Source {
  /** Absolute in the sandbox; `answer` for the submitted text. */
  readonly path: string;
  readonly text: string;
  /** Null where nothing was placed there, or set-up made it. */
  readonly placed: string | null;
  /** Whether line `line`, from 1, is the agent's: not among those placed. */
  isOwnLine(line: number): boolean;
}

/** What detectors ask of an episode, read once. */
export interface EpisodeReading {
  readonly input: DetectorInput;
  readonly document: Trajectory;
  readonly task: Task | null;
  readonly evidence: Evidence | null;
  /** Empty without evidence. */
  readonly changes: readonly StateChange[];
  readonly events: readonly TraceEvent[];
  readonly commands: readonly CommandText[];
  /** Texts among the graded artifacts and the answer that are not as they were placed. */
  readonly sources: readonly Source[];
  readonly hidden: readonly TestResult[];
  /** What lay at a path before the agent's first turn, as text; null where the platform placed nothing. */
  placed(path: string): string | null;
  /** Whether the platform placed a file there or below, the task's own or one of a script that acts in place of a policy. */
  isPlaced(path: string): boolean;
  /** Whether the instruction or the contract speaks of a path, by its name: then it may be what was asked for. */
  isAskedFor(path: string): boolean;
  /** The turn whose command names `text`, the latest; null when none does. */
  turnOf(text: string): number | null;
  /** What the body holds as UTF-8; the empty text when it is not stored. */
  text(hash: string): string;
}

const readings = new WeakMap<DetectorInput, EpisodeReading>();

/** One reading per input: every detector of an episode shares it. */
export function readEpisode(input: DetectorInput): EpisodeReading {
  let reading = readings.get(input);
  if (reading === undefined) {
    reading = new Reading(input);
    readings.set(input, reading);
  }
  return reading;
}

class Reading implements EpisodeReading {
  readonly input: DetectorInput;
  #commands: readonly CommandText[] | null = null;
  #sources: readonly Source[] | null = null;

  constructor(input: DetectorInput) {
    this.input = input;
  }

  get document(): Trajectory {
    return this.input.document;
  }

  get task(): Task | null {
    return this.input.task;
  }

  get evidence(): Evidence | null {
    return this.input.evidence;
  }

  get changes(): readonly StateChange[] {
    return this.input.evidence?.changes ?? [];
  }

  get events(): readonly TraceEvent[] {
    return this.input.evidence?.events ?? [];
  }

  get hidden(): readonly TestResult[] {
    return this.document.tests.filter((test) => test.visibility === "hidden");
  }

  get commands(): readonly CommandText[] {
    this.#commands ??= commandsOf(this.document);
    return this.#commands;
  }

  get sources(): readonly Source[] {
    this.#sources ??= this.#readSources();
    return this.#sources;
  }

  placed(path: string): string | null {
    const file = this.task?.files.find((placed) => placed.path === path);
    return file === undefined ? null : new TextDecoder().decode(file.bytes);
  }

  isPlaced(path: string): boolean {
    const own = (this.task?.files ?? []).map((file) => file.path);
    return [...own, ...(this.document.placed ?? [])].some((placed) => isBelow(placed, path));
  }

  isAskedFor(path: string): boolean {
    const { task } = this;
    if (task === null) return false;
    /* A name like `python3` or `tests` stands in many a text; it must be spoken of as a path. */
    const name = path.slice(path.lastIndexOf("/") + 1).includes(".") ? nameOf(path) : path;
    if (name !== "" && new RegExp(`(?<![\\w.-])${escaped(name)}(?![\\w-])`).test(task.instruction)) return true;
    return task.contract.files.some((rule) => rule.path === path);
  }

  turnOf(text: string): number | null {
    return this.commands.findLast((command) => command.text.includes(text))?.turn ?? null;
  }

  text(hash: string): string {
    const bytes = this.input.body(hash);
    return bytes === null ? "" : new TextDecoder().decode(bytes.subarray(0, SOURCE_CHARACTERS_MAX));
  }

  #readSources(): Source[] {
    const { document } = this;
    const sources: Source[] = [];
    let left = SOURCES_BYTES_MAX;
    if (document.answerBlob !== null) sources.push(source("answer", this.text(document.answerBlob), null));
    for (const artifact of document.artifacts) {
      if (artifact.bytes > SOURCE_CHARACTERS_MAX || artifact.bytes > left) continue;
      const text = this.text(artifact.hash);
      left -= artifact.bytes;
      const placed = this.placed(artifact.path);
      if (text === placed || text.includes("\0")) continue;
      const isKnownChange = this.changes.some((change) => change.path === artifact.path);
      /* What set-up made and nobody touched is not the agent's. */
      if (placed === null && this.evidence !== null && this.task?.setup !== null && !isKnownChange) continue;
      sources.push(source(artifact.path, text, placed));
    }
    return sources;
  }
}

function source(path: string, text: string, placed: string | null): Source {
  const before = new Set((placed ?? "").split("\n").map((line) => line.trim()));
  const lines = text.split("\n");
  return { path, text, placed, isOwnLine: (line) => placed === null || !before.has((lines[line - 1] ?? "").trim()) };
}

function commandsOf(document: Trajectory): CommandText[] {
  const commands: CommandText[] = [];
  for (const turn of document.turns)
    for (const call of turn.toolCalls) {
      const args = call.arguments;
      if (typeof args !== "object" || args === null) continue;
      const { command, new: written, path } = args as Record<string, unknown>;
      const text = typeof command === "string" ? command : typeof written === "string" ? `${path}\n${written}` : null;
      if (text === null) continue;
      commands.push({ turn: turn.index, text, exitCode: call.exitCode, rawBlob: call.observation.rawBlob });
    }
  return commands;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The path of the folder that holds it. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0)) || "/";
}
