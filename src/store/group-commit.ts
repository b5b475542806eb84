/**
 * One transaction and one pack for all writes that wait: those that arrive in one turn of the event loop, and those
 * that arrive while the group before is being written. Order of arrival is kept, bytes are durable before the rows
 * that name them, and every caller is answered after the commit. One write that fails leaves the others of its group.
 */
import type { DatabaseSync } from "node:sqlite";
import { Failure } from "../core/errors.ts";
import type { Runtime } from "../core/runtime.ts";
import { inTransaction } from "./database.ts";
import type { Content } from "./pack.ts";
import type { StoredContents } from "./record-bytes.ts";
import { storeFailure } from "./store-failure.ts";

const WRITES_MAX = 1_024;
const CONTENT_BYTES_MAX = 64 * 1024 * 1024;

export interface Write<T> {
  /** Put into the group's pack before `apply`; none for a write of rows alone. */
  readonly contents?: readonly Content[];
  /** Asked before packing: false when the write would be refused anyway, so that its bytes are not kept. */
  readonly isWanted?: () => boolean;
  /** Runs inside the transaction. `stored` is where `contents` lie; null when there were none or they were not wanted. */
  readonly apply: (stored: StoredContents | null) => T;
}

export interface GroupCommit {
  /** Settles after the group is durable. Throws `disk_full`, `store_unavailable` or what `apply` throws. */
  write<T>(write: Write<T>): Promise<T>;
  /** Resolves when nothing waits any more. */
  drain(): Promise<void>;
}

interface Waiting {
  readonly contents: readonly Content[];
  readonly bytes: number;
  readonly isWanted: () => boolean;
  readonly apply: (stored: StoredContents | null) => void;
  readonly settle: () => void;
  readonly fail: (error: unknown) => void;
}

export function groupCommit(options: {
  readonly database: DatabaseSync;
  readonly folder: string;
  readonly runtime: Runtime;
  readonly put: (contents: readonly Content[]) => Promise<StoredContents>;
  /** Runs inside the transaction, before the writes whose contents these are. */
  readonly recordObjects: (stored: StoredContents) => void;
}): GroupCommit {
  const queue: Waiting[] = [];
  let working: Promise<void> | null = null;

  const commitGroup = async (group: readonly Waiting[]): Promise<void> => {
    const packed = group.filter((write) => write.contents.length > 0 && write.isWanted());
    let stored: StoredContents | null = null;
    let rest = group;
    if (packed.length > 0) {
      try {
        stored = await options.put(packed.flatMap((write) => write.contents));
      } catch (error) {
        const failure = storeFailure(error, options.folder);
        for (const write of packed) write.fail(failure);
        rest = group.filter((write) => !packed.includes(write));
      }
    }
    commitRows(options, rest, new Set(packed), stored);
  };

  const work = async (): Promise<void> => {
    while (queue.length > 0) {
      // Lets every caller of this turn of the event loop join the group.
      await options.runtime.sleep(0);
      const group = takeGroup(queue);
      try {
        await commitGroup(group);
      } catch (error) {
        for (const write of group) write.fail(storeFailure(error, options.folder));
      }
    }
    working = null;
  };

  return {
    write<T>({ contents = [], isWanted = () => true, apply }: Write<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        let settle = (): void => undefined;
        queue.push({
          contents,
          bytes: contents.reduce((sum, content) => sum + content.bytes.length, 0),
          isWanted,
          apply: (stored) => {
            const result = apply(stored);
            settle = () => resolve(result);
          },
          settle: () => settle(),
          fail: reject,
        });
        working ??= work();
      });
    },
    async drain() {
      while (working !== null) await working;
    },
  };
}

/** The oldest waiting writes, as many as fit one group; at least one. */
function takeGroup(queue: Waiting[]): Waiting[] {
  let count = 0;
  let bytes = 0;
  for (const write of queue) {
    bytes += write.bytes;
    if (count === WRITES_MAX || (count > 0 && bytes > CONTENT_BYTES_MAX)) break;
    count += 1;
  }
  return queue.splice(0, count);
}

function commitRows(
  {
    database,
    folder,
    recordObjects,
  }: { database: DatabaseSync; folder: string; recordObjects: (stored: StoredContents) => void },
  group: readonly Waiting[],
  packed: ReadonlySet<Waiting>,
  stored: StoredContents | null,
): void {
  if (group.length === 0) return;
  const done: Waiting[] = [];
  const failed: [Waiting, unknown][] = [];
  try {
    inTransaction(database, () => {
      if (stored !== null) recordObjects(stored);
      for (const write of group) {
        database.exec("SAVEPOINT one");
        try {
          write.apply(packed.has(write) ? stored : null);
          done.push(write);
        } catch (error) {
          // An error that ended the whole transaction, such as a full disk, ends the whole group.
          if (!database.isTransaction) throw error;
          database.exec("ROLLBACK TO one");
          failed.push([write, error]);
        }
        database.exec("RELEASE one");
      }
    });
  } catch (error) {
    const failure = storeFailure(error, folder);
    for (const write of group) write.fail(failure);
    return;
  }
  for (const write of done) write.settle();
  for (const [write, error] of failed) write.fail(error instanceof Failure ? error : storeFailure(error, folder));
}
