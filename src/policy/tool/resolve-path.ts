/** A path as the policy wrote it, as an absolute path inside its sandbox. Never touches the host's file system. */
import { posix } from "node:path";

export function resolvePath(path: string, workdir: string): string {
  return posix.resolve(workdir, path);
}
