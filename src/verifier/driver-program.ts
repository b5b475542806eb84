/**
 * The driver as a Python process takes it. Compiling its source at each start was a fifth of a grading's processor time,
 * so it is compiled once for each image and sent as byte code, over the pipe that later brings the calls.
 *
 * The code of an image is made by a process of its own, in a sandbox where nothing of the agent has run or lies yet: a
 * graded program can neither write it nor see it made. Without it the source is sent, and everything is the same.
 */
import type { Sandbox } from "../core/sandbox.ts";
import { asset } from "./asset.ts";

export const PYTHON = ["/usr/bin/python3", "-I", "-S", "-E", "-B", "-c"] as const;

/** Takes as many bytes from descriptor 4 as its second word says, and runs them: byte code of this Python, or source. */
const STARTER = `import posix, sys
kind, size, data = sys.argv[1], int(sys.argv[2]), b""
while len(data) < size:
    data += posix.read(4, size - len(data)) or sys.exit("no driver came")
if kind != "source":
    if kind != sys.modules["_frozen_importlib_external"].MAGIC_NUMBER.hex():
        sys.exit("the driver was compiled by another Python")
    import marshal
    data = marshal.loads(data)
exec(data)
`;

/** Writes the magic number of this Python in hex, a space, and the byte code of what it reads. */
const COMPILER = `import marshal, posix, sys
source = open(0, "rb", closefd=False).read()
code = marshal.dumps(compile(source, "<driver>", "exec", dont_inherit=True, optimize=2))
code = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER.hex().encode() + b" " + code
while code:
    code = code[posix.write(1, code):]
`;

const COMPILE_MS = 20_000;
const CODE_BYTES_MAX = 256 * 1024;
/** Images a process grades in; beyond it the oldest is compiled again. */
const IMAGES_MAX = 64;

/** How a driver is started, and the bytes its descriptor 4 must bring first. */
export interface DriverProgram {
  readonly argv: readonly string[];
  readonly bytes: Uint8Array;
}

const compiled = new Map<string, DriverProgram>();

/**
 * The driver for this sandbox's image. Only `isPristine`, where nothing of the agent lies in the sandbox and nothing has
 * run there, may it be compiled in it; otherwise byte code is used only when there is some. Throws sandbox failures.
 */
export async function driverProgram(
  sandbox: Sandbox,
  isPristine: boolean,
  signal: AbortSignal,
): Promise<DriverProgram> {
  const { imageHash } = sandbox.info;
  const known = compiled.get(imageHash);
  if (known !== undefined) return known;
  const made = isPristine ? await compile(sandbox, signal) : null;
  if (made === null) return started("source", Buffer.from(asset("subject_driver.py"), "utf8"));
  const oldest = compiled.size < IMAGES_MAX ? undefined : compiled.keys().next().value;
  if (oldest !== undefined) compiled.delete(oldest);
  compiled.set(imageHash, made);
  return made;
}

/** A driver did not start from this byte code: the machine's Python has changed under the image's name. */
export function forgetDriverProgram(sandbox: Sandbox): void {
  compiled.delete(sandbox.info.imageHash);
}

/** Null when it could not be made, which the start from source then explains. */
async function compile(sandbox: Sandbox, signal: AbortSignal): Promise<DriverProgram | null> {
  const result = await sandbox.exec([...PYTHON, COMPILER], {
    user: "verifier",
    cwd: "/",
    envVars: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC", HOME: "/nonexistent" },
    input: Buffer.from(asset("subject_driver.py"), "utf8"),
    timeoutMs: COMPILE_MS,
    outputBytesMax: CODE_BYTES_MAX,
    signal,
  });
  const said = Buffer.from(result.stdout);
  const end = said.indexOf(" ");
  const magic = said.toString("latin1", 0, Math.max(0, end));
  if (result.exitCode !== 0 || result.verdict === "output_limit" || !/^[0-9a-f]{8}$/.test(magic)) return null;
  return started(magic, Uint8Array.from(said.subarray(end + 1)));
}

function started(kind: string, bytes: Uint8Array): DriverProgram {
  return { argv: [...PYTHON, STARTER, kind, String(bytes.length)], bytes };
}
