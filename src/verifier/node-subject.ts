/**
 * Calls one exported function of a JavaScript module in the subject sandbox, in a process of its own. What the program
 * answers is text of `node/plain-data.mjs` and is never interpreted here; whatever else it does is a value, too.
 */
import { Failure } from "../core/errors.ts";
import type { ExecResult } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { asset } from "./asset.ts";
import { clipped } from "./clipped.ts";

/** Where an image may have its Node; nothing on PATH that came later can stand in for it. */
export const NODE_PATHS = ["/usr/local/bin/node", "/usr/bin/node"] as const;

/** Of `sh -c`: becomes the Node of the image with the arguments after it; ends with 127 where there is none. */
export const NODE_START = `for node in ${NODE_PATHS.join(" ")}; do [ -x "$node" ] && exec "$node" "$@"; done; exit 127`;
const EXIT_NO_NODE = 127;
const NONCE_BYTES = 16;
const REPLY_BYTES_MAX = 2 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 256 * 1024;
/** Starting a Node on a busy machine is no time of the program. */
const START_MS = 5_000;
const DETAIL_CHARACTERS_MAX = 500;

/** One call of a JavaScript function. */
export interface NodeCall {
  /** Absolute in the sandbox. */
  readonly path: string;
  readonly function: string;
  /** Text of `node/plain-data.mjs`, a list of the arguments. */
  readonly args: string;
  /** Wall time of loading and calling together. */
  readonly timeoutMs: number;
}

/** Where it is called. */
export interface NodePlace {
  readonly sandbox: Sandbox;
  readonly runtime: Runtime;
  readonly cwd: string;
  readonly envVars: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** How a call ended. */
export type NodeReply =
  | { readonly kind: "value"; readonly text: string }
  | { readonly kind: "raised" | "timeout" | "ended"; readonly detail: string };

/** Throws `task_invalid` where the image has no Node, `cancelled`, and sandbox failures other than the program's own doing. */
export async function callNodeSubject(call: NodeCall, place: NodePlace): Promise<NodeReply> {
  const nonce = Buffer.from(place.runtime.randomBytes(NONCE_BYTES)).toString("hex");
  const answered = new AbortController();
  const reply = replyReader(nonce, () => answered.abort());
  const lines = [{ path: call.path, entry: call.function }, [nonce, call.args]].map((line) => JSON.stringify(line));
  const argv = ["/bin/sh", "-c", NODE_START, "node", "--input-type=module", "--eval", driverText()];
  const result = await place.sandbox.exec(argv, {
    user: "subject",
    cwd: place.cwd,
    envVars: place.envVars,
    timeoutMs: call.timeoutMs + START_MS,
    killGraceMs: 0,
    outputBytesMax: OUTPUT_BYTES_MAX,
    onOutputLimit: "kill",
    descendants: "kill",
    signal: AbortSignal.any([place.signal, answered.signal]),
    pipes: [
      { fd: 3, onBytes: reply.take },
      { fd: 4, input: bytesOf(`${lines.join("\n")}\n`) },
    ],
  });
  if (place.signal.aborted)
    throw new Failure("cancelled", "Nobody waits for this call.", { cause: place.signal.reason });
  return reply.found() ?? endReply(result, reply.isStarted());
}

/** The driver, with the module it imports inside it: nothing of it has to lie in the sandbox. */
function driverText(): string {
  const codec = Buffer.from(asset("plain-data.mjs"), "utf8").toString("base64");
  return asset("subject-driver.mjs").replace('"./plain-data.mjs"', `"data:text/javascript;base64,${codec}"`);
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  // Escaped, so that the driver needs to know nothing of encodings.
  yield Buffer.from(text.replace(/[^\n -~]/g, escaped), "ascii");
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

interface ReplyReader {
  readonly take: (bytes: Uint8Array) => void;
  isStarted(): boolean;
  found(): NodeReply | null;
}

/** Waits for the first line that ends the call: an answer with its nonce, or a refusal to load. */
function replyReader(nonce: string, onFound: () => void): ReplyReader {
  let text = "";
  let bytesTaken = 0;
  let isStarted = false;
  let found: NodeReply | null = null;
  const settle = (reply: NodeReply): void => {
    found = reply;
    onFound();
  };
  const read = (line: string): void => {
    if (line === "hello") isStarted = true;
    else if (line.startsWith("refused ")) settle({ kind: "raised", detail: readable(line) });
    else if (line.startsWith(`${nonce} value `)) settle({ kind: "value", text: line.slice(nonce.length + 7) });
    else if (line.startsWith(`${nonce} error `)) settle({ kind: "raised", detail: readable(line) });
  };
  return {
    take: (bytes) => {
      if (found !== null) return;
      bytesTaken += bytes.length;
      if (bytesTaken > REPLY_BYTES_MAX) {
        settle({ kind: "ended", detail: `wrote more than ${REPLY_BYTES_MAX} bytes as its answer` });
        return;
      }
      const lines = (text + Buffer.from(bytes).toString("latin1")).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) if (found === null) read(line);
    },
    isStarted: () => isStarted,
    found: () => found,
  };
}

function endReply(result: ExecResult, isStarted: boolean): NodeReply {
  if (!isStarted && result.exitCode === EXIT_NO_NODE) {
    throw new Failure(
      "task_invalid",
      `The image of the task has no Node at ${NODE_PATHS.join(" or ")}, which its hidden tests need; add one to the image.`,
    );
  }
  if (result.timedOut) return { kind: "timeout", detail: "no answer within the time limit" };
  if (result.oomKilled) return { kind: "ended", detail: "ran out of memory" };
  if (result.verdict === "output_limit")
    return { kind: "ended", detail: `printed more than ${OUTPUT_BYTES_MAX} bytes` };
  return { kind: "ended", detail: `ended its process (${result.signal ?? `exit code ${result.exitCode}`})` };
}

/** Untrusted text for people: hex of UTF-16, shown as one line of printable ASCII. */
function readable(line: string): string {
  const hex = /"([0-9a-f]*)"\]$/.exec(line)?.[1] ?? "";
  const text = Buffer.from(hex, "hex").toString("utf16le");
  return clipped(text, DETAIL_CHARACTERS_MAX);
}
