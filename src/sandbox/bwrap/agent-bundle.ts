/**
 * The Python agent as one file: its modules compiled, with the files a sandbox starts with and its filters. It is read
 * from a descriptor and from no path, so nothing of it lies in a sandbox, and no start pays for compiling.
 */
import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { RootEntry } from "./host-root.ts";
import type { SeccompPrograms } from "./seccomp.ts";

/** The system's own: every sandbox on `host` sees the same. */
export const PYTHON = "/usr/bin/python3";

/** In an order in which each finds what it imports. */
const MODULES = [
  "frames",
  "system",
  "processes",
  "streams",
  "children",
  "shell",
  "jobs",
  "confine",
  "answers",
  "records",
  "files",
  "trees",
  "agent",
];

/** Where the bundle comes to the agent. */
export const BUNDLE_FD = 3;

/** What PID 1 of a sandbox runs. */
export const BOOT =
  `import marshal as m,posix as p,sys\nb=m.loads(p.pread(${BUNDLE_FD},p.fstat(${BUNDLE_FD}).st_size,0))\n` +
  "for n,c in b['modules']:\n d=sys.modules[n]=type(sys)(n)\n exec(c,d.__dict__)\n" +
  "sys.modules['agent'].main(b['skeleton'],b['filters'])";

const COMPILE =
  "import base64,json,marshal,sys\ng=json.load(sys.stdin)\nb=base64.b64decode\n" +
  "marshal.dump({'modules':[(n,compile(t,n+'.py','exec',optimize=2)) for n,t in g['modules']]," +
  "'skeleton':[(b(p),m,u,k,b(d)) for p,m,u,k,d in g['skeleton']],'filters':[b(f) for f in g['filters']]}," +
  "sys.stdout.buffer)";

const BUNDLE_BYTES_MAX = 16 << 20;

/** Gives the bundle's bytes. Throws `environment_missing` without a Python that can make it. */
export function bundleAgent(skeleton: readonly RootEntry[], filters: SeccompPrograms): Buffer {
  const given = {
    modules: MODULES.map((name) => [name, readFileSync(join(import.meta.dirname, `${name}.py`), "utf8")]),
    skeleton: skeleton.map(({ path, mode, uid, kind, data }) => [
      Buffer.from(path).toString("base64"),
      mode,
      uid,
      kind,
      data.toString("base64"),
    ]),
    filters: [filters.agent, filters.command, filters.strictCommand].map((program) => program.toString("base64")),
  };
  try {
    const options = { input: JSON.stringify(given), maxBuffer: BUNDLE_BYTES_MAX, env: {} };
    return execFileSync(PYTHON, ["-I", "-S", "-c", COMPILE], options);
  } catch (cause) {
    throw new Failure(
      "environment_missing",
      `The agent of bwrap sandboxes could not be made with ${PYTHON}: ${String(cause)}. apt-get install python3`,
      { cause },
    );
  }
}

/** A file without a name that holds `bytes`, open for reading; it is gone with its last descriptor. */
export function namelessFile(runtime: Runtime, bytes: Uint8Array): number {
  const path = join(tmpdir(), `sandlot-${runtime.id()}`);
  const writing = openSync(path, "wx", 0o600);
  try {
    const reading = openSync(path, "r");
    for (let at = 0; at < bytes.length; ) at += writeSync(writing, bytes, at);
    return reading;
  } finally {
    closeSync(writing);
    unlinkSync(path);
  }
}

/** The same file once more, from its beginning: whoever reads it moves no other reader's place. */
export function reopen(fd: number): number {
  return openSync(`/proc/self/fd/${fd}`, "r");
}
