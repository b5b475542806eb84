/** What the file system refuses of the store itself, as a sentence that says where it lies and what to do. */
import { Failure } from "../../core/errors.ts";

const FULL = new Set(["ENOSPC", "EDQUOT"]);

/** Runs `work`; the system's own errors become `disk_full` or `image_unavailable`, every other error stays what it is. */
export async function namingStore<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asStoreFailure(folder, error);
  }
}

function asStoreFailure(folder: string, error: unknown): unknown {
  if (error instanceof Failure || !(error instanceof Error)) return error;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code !== undefined && FULL.has(code)) {
    return new Failure(
      "disk_full",
      `No space is left in the image store ${folder}; free some with "sandlot image gc".`,
      {
        cause: error,
      },
    );
  }
  const isSystems = syscall !== undefined || code === "ERR_SQLITE_ERROR";
  if (!isSystems) return error;
  return new Failure(
    "image_unavailable",
    `The image store ${folder} cannot be used (${error.message}); mend or remove what lies there, or name another cache folder in XDG_CACHE_HOME.`,
    { cause: error },
  );
}
