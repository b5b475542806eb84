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
 * Reads one URL from its input, without proxy or redirection, and writes the status and at most a MiB of body. A
 * status of 0 says that nothing answers; any other trouble is an exit that is not 0.
 */
const GET_PROGRAM = `
import http.client, sys
host, port, target = sys.stdin.read().split("\\n")
connection = http.client.HTTPConnection(host, int(port), timeout=1.5)
try:
    connection.request("GET", target, headers={"Connection": "close"})
except ConnectionRefusedError:
    sys.stdout.write("0\\n")
    raise SystemExit(0)
answer = connection.getresponse()
body = answer.read(1000000)
sys.stdout.write(str(answer.status) + "\\n")
sys.stdout.flush()
sys.stdout.buffer.write(body)
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
  const end = answer.indexOf("\n");
  if (Number(answer.slice(0, end)) !== predicate.status) return false;
  return predicate.json === undefined || jsonEquals(answer.slice(end + 1), predicate.json);
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
