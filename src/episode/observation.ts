/**
 * Turns what a tool call brought back into what the policy is shown: head and tail of long output with an exact count
 * between, control sequences removed, invalid UTF-8 replaced, and one last line that says how the call ended and what
 * is left. Wording, order and number formats are fixed, so that equal states read equal. What really came stays raw.
 */
import type { LimitsLeft, Observation, ToolCall, ToolResult } from "../core/environment.ts";
import type { Task } from "../core/task.ts";

/** Longest growth of one byte when it is not UTF-8: the replacement character takes three. */
const REPLACEMENT_BYTES = 3;

export interface ObservationInput {
  readonly call: ToolCall;
  readonly result: ToolResult;
  readonly durationMs: number;
  /** Most bytes of output the text may hold, beside the marker and the last line. */
  readonly bytesMax: number;
  /** After this call. */
  readonly left: LimitsLeft;
  readonly isDeadlineShown: boolean;
}

/** What the policy perceives of one call. */
export function observe(input: ObservationInput): Observation {
  const { call, result } = input;
  const shown = shownOutput(result.output, result.outputBytesTruncated, input.bytesMax);
  return {
    callId: call.id,
    tool: call.name,
    text: `${shown.text}${shown.text === "" || shown.text.endsWith("\n") ? "" : "\n"}${lastLine(input)}`,
    raw: result.output,
    rawBytes: result.output.length + result.outputBytesTruncated,
    bytesLeftOut: shown.bytesLeftOut,
    exitCode: result.exitCode,
    timedOut: result.timedOut,
    oomKilled: result.oomKilled,
    durationMs: input.durationMs,
    isInvalid: result.isInvalid,
  };
}

/** `exit 1 · 2.3 s · left: 17 turns, 41,200 tokens, 312 s`; without the last part where the task does not show it. */
function lastLine(input: ObservationInput): string {
  const parts = [endOf(input.result), `${(input.durationMs / 1000).toFixed(1)} s`];
  if (input.isDeadlineShown) parts.push(`left: ${leftText(input.left)}`);
  return parts.join(" · ");
}

function endOf(result: ToolResult): string {
  if (result.isInvalid) return "invalid call";
  if (result.timedOut) return "time limit";
  if (result.exitCode !== null) return `exit ${result.exitCode}${result.oomKilled ? " (out of memory)" : ""}`;
  return result.oomKilled ? "out of memory" : "done";
}

/** What is left, in the words of every observation: `17 turns, 41,200 tokens, 312 s`. */
export function leftText(left: LimitsLeft): string {
  const seconds = Math.max(0, Math.floor(left.agentMs / 1000));
  return `${grouped(left.turns)} turns, ${grouped(left.tokens)} tokens, ${grouped(seconds)} s`;
}

/** A whole number with a comma between thousands, whatever the machine's locale. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * At most `bytesMax` bytes of output as clean text: all of it, or head and tail with the count of what is between.
 * `bytesLeftOut` is exact and includes the `droppedBytes` that the sandbox never kept.
 */
export function shownOutput(
  output: Uint8Array,
  droppedBytes: number,
  bytesMax: number,
): { readonly text: string; readonly bytesLeftOut: number } {
  const fits = cutOutput(output, droppedBytes, bytesMax);
  if (Buffer.byteLength(fits.clean) <= bytesMax) return fits;
  return cutOutput(output, droppedBytes, Math.floor(bytesMax / REPLACEMENT_BYTES));
}

function cutOutput(output: Uint8Array, droppedBytes: number, bytesMax: number) {
  if (output.length <= bytesMax && droppedBytes === 0) {
    const clean = cleanText(output);
    return { text: clean, clean, bytesLeftOut: 0 };
  }
  // The sandbox keeps the head of what it caps, so the end of a capped output is not its tail.
  const tailBytes = droppedBytes > 0 ? 0 : Math.floor(bytesMax / 2);
  const headEnd = characterStart(output, Math.min(output.length, bytesMax - tailBytes));
  const tailStart = Math.max(headEnd, nextCharacter(output, output.length - tailBytes));
  const head = cleanText(output.subarray(0, headEnd));
  const tail = cleanText(output.subarray(tailStart));
  const bytesLeftOut = tailStart - headEnd + droppedBytes;
  return { text: `${head}\n[… ${grouped(bytesLeftOut)} bytes left out …]\n${tail}`, clean: head + tail, bytesLeftOut };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** The nearest place at or before `index` where a UTF-8 character starts; at most three bytes away. */
function characterStart(bytes: Uint8Array, index: number): number {
  let start = index;
  while (start > 0 && index - start < 3 && isContinuation(bytes[start])) start -= 1;
  return isContinuation(bytes[start]) ? index : start;
}

/** The nearest place at or after `index` where a UTF-8 character starts; at most three bytes away. */
function nextCharacter(bytes: Uint8Array, index: number): number {
  let start = Math.max(0, index);
  while (start < bytes.length && start - index < 3 && isContinuation(bytes[start])) start += 1;
  return start;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** ECMA-48: operating-system and device strings, control sequences, other escapes; then single control characters. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing control characters is what this is for.
  /\u001b\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|\u001b[PX^_][^\u001b\n]*\u001b\\|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]?/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing control characters is what this is for.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text without control sequences; line ends become `\n`, invalid UTF-8 the replacement character. */
export function cleanText(bytes: Uint8Array): string {
  return decoder.decode(bytes).replace(ESCAPES, "").replace(/\r\n?/g, "\n").replace(CONTROLS, "");
}

/** What a task offers beside the tools, one paragraph; none where it offers nothing. */
export function offersOf({
  mcpServers = [],
  skillsFolder,
}: Pick<Task, "mcpServers" | "skillsFolder">): readonly string[] {
  const servers = mcpServers.map((server) =>
    server.transport === "stdio"
      ? `- ${server.name}: stdio, started by ${server.argv.map((word) => JSON.stringify(word)).join(" ")}`
      : `- ${server.name}: ${server.transport}, at ${server.url}`,
  );
  const lines = [
    ...(servers.length === 0 ? [] : ["MCP servers in this sandbox:", ...servers]),
    ...(skillsFolder === undefined ? [] : [`Skills lie in ${skillsFolder}.`]),
  ];
  return lines.length === 0 ? [] : [lines.join("\n")];
}
