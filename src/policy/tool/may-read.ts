/** The file API of a sandbox reads with the rights of the sandbox's root; a tool shows only what the agent's user may read. */
import type { ToolContext } from "../../core/environment.ts";

/** Whether the agent's own user may read the file, or list the folder, at an absolute path. */
export async function mayRead(context: ToolContext, path: string): Promise<boolean> {
  const sandbox = await context.sandbox();
  const script = '[ -r "$1" ] && { [ ! -d "$1" ] || [ -x "$1" ]; }';
  const result = await sandbox.exec(["/bin/sh", "-c", script, "sh", path], {
    cwd: "/",
    user: context.user,
    timeoutMs: context.timeoutMs,
    outputBytesMax: 1_024,
    signal: context.signal,
  });
  return result.exitCode === 0;
}
