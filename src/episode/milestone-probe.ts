/**
 * The predicates `port`, `process` and `http`. Listeners and loopback can only be seen from inside of the sandbox: a
 * program of the image is run there by its absolute path, as the user `verifier`, whose processes the agent can neither
 * touch nor steer. An agent that is root could replace that program, so for it these predicates are `unknown`.
 */
import type { Predicate, Truth } from "../core/milestone.ts";
import { jsonEquals } from "./milestone-file.ts";
import type { Look } from "./milestone-look.ts";

type HttpPredicate = Extract<Predicate, { readonly kind: "http" }>;

const PROBE_MS = 1_800;
const OUTPUT_BYTES_MAX = 1024 * 1024;
/** State of a listening socket in the kernel's tables. */
const LISTENING = "0A";

/**
 * Reads one URL from its input, without proxy or redirection, and writes the answer as it came, at most a MiB of it:
 * nothing where nothing answers. HTTP 1.0, so that the body comes whole and ends with the connection. It loads no more
 * than a socket, for it may have to start on a busy machine within the predicate's time.
 */
const GET_PROGRAM = `
import socket, sys
host, port, target = sys.stdin.read().split("\\n")
try:
    connection = socket.create_connection((host, int(port)), 1.5)
except ConnectionRefusedError:
    raise SystemExit(0)
connection.sendall(f"GET {target} HTTP/1.0\\r\\nHost: {host}:{port}\\r\\nConnection: close\\r\\n\\r\\n".encode())
answer = b""
while len(answer) < 1000000:
    piece = connection.recv(65536)
    if not piece:
        break
    answer += piece
sys.stdout.buffer.write(answer)
`;

/** Whether something listens on this TCP port, on any address. */
export async function lookAtPort(port: number, look: Look): Promise<Truth> {
  const tables = await trusted(["/bin/cat", "/proc/net/tcp", "/proc/net/tcp6"], "", look);
  if (tables === null) return "unknown";
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return tables.split("\n").some((line) => {
    const [, local = "", , state] = line.trim().split(/\s+/);
    return state === LISTENING && local.endsWith(`:${wanted}`);
  });
}

/** Whether one process has all these words in its argv, in this order. The kernel's list joins words by spaces. */
export async function lookAtProcesses(argv: readonly string[], look: Look): Promise<Truth> {
  const wanted = argv.flatMap((word) => word.split(" "));
  const processes = await look.sandbox.processes();
  return processes.some(({ command }) => {
    let found = 0;
    for (const word of command.split(" ")) if (word === wanted[found]) found += 1;
    return found === wanted.length;
  });
}

/** Whether a GET on loopback answers so. Where nothing listens it does not; a broken answer is unknown. */
export async function lookAtUrl(predicate: HttpPredicate, look: Look): Promise<Truth> {
  const url = new URL(predicate.url);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const request = `${host}\n${url.port === "" ? 80 : url.port}\n${url.pathname}${url.search}`;
  const answer = await trusted(["/usr/bin/python3", "-I", "-S", "-c", GET_PROGRAM], request, look);
  if (answer === null) return "unknown";
  if (answer === "") return false;
  const status = /^HTTP\/1\.[01] ([0-9]{3})\b/.exec(answer)?.[1];
  if (status === undefined) return "unknown";
  if (Number(status) !== predicate.status) return false;
  const head = answer.indexOf("\r\n\r\n");
  return predicate.json === undefined || (head >= 0 && jsonEquals(answer.slice(head + 4), predicate.json));
}

/** What the program wrote, or null where the agent could have replaced it or where it did not end well. */
async function trusted(
  argv: readonly string[],
  input: string,
  { sandbox, task, signal }: Look,
): Promise<string | null> {
  if (["root", "0", "verifier", "1001"].includes(task.agentUser)) return null;
  const result = await sandbox.exec(argv, {
    user: "verifier",
    cwd: "/",
    envVars: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" },
    input: Buffer.from(input, "utf8"),
    timeoutMs: PROBE_MS,
    killGraceMs: 0,
    outputBytesMax: OUTPUT_BYTES_MAX,
    descendants: "kill",
    signal,
  });
  return result.exitCode === 0 && result.stdoutBytesTruncated === 0
    ? Buffer.from(result.stdout).toString("utf8")
    : null;
}
