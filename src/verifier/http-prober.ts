/**
 * The platform's end of `python/http_prober.py`: one process of the user `verifier` in the sandbox of the services, which
 * sends their loopback one request at a time. What it says of a service is the service's doing; an end of it, too, once
 * anything of the agent has run there.
 */
import { Failure, toFailure } from "../core/errors.ts";
import type { SandboxProcess } from "../core/exec.ts";
import type { Runtime } from "../core/runtime.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { asset } from "./asset.ts";
import { PYTHON } from "./driver-program.ts";
import type { HttpAnswer } from "./http-compare.ts";
import type { HttpRequest } from "./http-spec.ts";
import { inputQueue } from "./input-queue.ts";

const HELLO_MS = 20_000;
/** What an answer may be late beyond the deadline that the prober itself keeps. */
const MARGIN_MS = 5_000;
const LINE_BYTES_MAX = 4 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 64 * 1024;

/** `late` and `failed`: of the service, with a sentence for people. */
export type HttpReply =
  | { readonly kind: "answer"; readonly answer: HttpAnswer }
  | { readonly kind: "late" | "failed"; readonly detail: string };

/** Asks a service from inside its sandbox. */
export interface HttpProber {
  /** Whether the port could be connected to within `ms`. */
  isReady(port: number, ms: number): Promise<boolean>;
  request(port: number, request: HttpRequest): Promise<HttpReply>;
  /** Ends it. Idempotent. */
  close(): Promise<void>;
}

/** Starts it before any service. Throws `verifier_crashed` when it does not come up, and sandbox failures. */
export async function startHttpProber(
  sandbox: Sandbox,
  runtime: Runtime,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<HttpProber> {
  const requests = inputQueue();
  const lines = lineReader();
  const process = await sandbox.start([...PYTHON, asset("http_prober.py")], {
    user: "verifier",
    cwd: "/",
    envVars: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC", HOME: "/nonexistent" },
    timeoutMs,
    outputBytesMax: OUTPUT_BYTES_MAX,
    descendants: "kill",
    signal,
    pipes: [
      { fd: 3, onBytes: lines.take },
      { fd: 4, input: requests.input },
    ],
  });
  const ended = endOf(process);
  ended.then(lines.end, lines.end);
  const ask = async (message: Readonly<Record<string, unknown>> | null, ms: number): Promise<Reply | null> => {
    if (message !== null) requests.push(Buffer.from(`${JSON.stringify(message)}\n`, "utf8"));
    const reply = await nextLine(lines, runtime, ms);
    if (signal.aborted) throw new Failure("cancelled", "The grading was cancelled.", { cause: signal.reason });
    return reply;
  };
  if ((await ask(null, HELLO_MS)) === null) {
    process.kill("SIGKILL");
    const said = await ended;
    throw new Failure("verifier_crashed", `The prober of HTTP services did not start: ${said.slice(-400)}`);
  }
  return {
    isReady: async (port, ms) => {
      const reply = await ask({ kind: "ready", port, seconds: ms / 1_000 }, ms + MARGIN_MS);
      return reply?.["isReady"] === true;
    },
    request: async (port, { method, path, headers, body, json, timeout_ms: ms }) => {
      const sent = json === undefined ? headers : { "content-type": "application/json", ...headers };
      const bytes = Buffer.from(json === undefined ? (body ?? "") : JSON.stringify(json), "utf8").toString("base64");
      const message = { kind: "request", port, method, path, headers: sent, body: bytes, seconds: ms / 1_000 };
      return replyOf(await ask(message, ms + MARGIN_MS));
    },
    close: async () => {
      requests.end();
      process.kill("SIGKILL");
      await ended.catch(() => undefined);
    },
  };
}

type Reply = Readonly<Record<string, unknown>>;

function replyOf(reply: Reply | null): HttpReply {
  if (reply === null) return { kind: "failed", detail: "the service left its prober no room to run" };
  const { status, headers, body, failed, isLate } = reply;
  if (typeof failed === "string") return { kind: isLate === true ? "late" : "failed", detail: failed };
  if (typeof status !== "number" || typeof body !== "string" || !Array.isArray(headers)) {
    return { kind: "failed", detail: "the answer cannot be read" };
  }
  const pairs = (headers as readonly (readonly unknown[])[]).map(
    ([key, value]) => [String(key), String(value)] as const,
  );
  return { kind: "answer", answer: { status, headers: pairs, body: Buffer.from(body, "base64") } };
}

/** What it printed, for people. A sandbox that a service ended is an end like any other; a lost one is thrown. */
async function endOf(process: SandboxProcess): Promise<string> {
  try {
    const result = await process.result;
    return `${result.verdict}: ${Buffer.from(result.stderr).toString("utf8")}`;
  } catch (error) {
    if (toFailure(error).code === "sandbox_killed") return "its sandbox was ended";
    throw error;
  }
}

interface LineReader {
  readonly take: (bytes: Uint8Array) => void;
  readonly end: () => void;
  /** Null at the end. One waiter at a time. */
  next(): Promise<string | null>;
}

async function nextLine(lines: LineReader, runtime: Runtime, ms: number): Promise<Reply | null> {
  let cancel = (): void => undefined;
  const late = new Promise<null>((resolve) => {
    cancel = runtime.timer(ms, () => resolve(null));
  });
  try {
    const line = await Promise.race([lines.next(), late]);
    if (line === null) lines.end();
    return line === null ? null : (JSON.parse(line) as Reply);
  } catch {
    return null;
  } finally {
    cancel();
  }
}

/** After its end, or once it has brought too much, nothing more is believed. */
function lineReader(): LineReader {
  let chunks: Uint8Array[] = [];
  let bytesKept = 0;
  let lines: string[] = [];
  let isEnded = false;
  let settle: ((line: string | null) => void) | null = null;
  const serve = (): void => {
    if (settle === null || (lines.length === 0 && !isEnded)) return;
    const give = settle;
    settle = null;
    give(isEnded ? null : (lines.shift() ?? null));
  };
  return {
    take: (bytes) => {
      if (isEnded) return;
      bytesKept += bytes.length;
      if (bytesKept > LINE_BYTES_MAX) isEnded = true;
      chunks.push(bytes.slice());
      if (bytes.includes(10)) {
        const complete = Buffer.concat(chunks).toString("latin1").split("\n");
        const rest = Buffer.from(complete.pop() ?? "", "latin1");
        chunks = [rest];
        bytesKept = rest.length;
        lines = [...lines, ...complete];
      }
      serve();
    },
    end: () => {
      isEnded = true;
      serve();
    },
    next: () =>
      new Promise((resolve) => {
        settle = resolve;
        serve();
      }),
  };
}
