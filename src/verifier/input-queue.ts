/** What a running command reads from one of its pipes, pushed piece by piece. */

export interface InputQueue {
  readonly input: AsyncIterable<Uint8Array>;
  push(bytes: Uint8Array): void;
  /** The command reads end of file once everything pushed was read. Idempotent; later pushes are dropped. */
  end(): void;
}

/** A queue with one reader. Its user bounds what waits in it by sending one request at a time. */
export function inputQueue(): InputQueue {
  const waiting: Uint8Array[] = [];
  let isEnded = false;
  let wake: (() => void) | null = null;
  const changed = (): void => {
    const call = wake;
    wake = null;
    call?.();
  };
  async function* read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const bytes = waiting.shift();
      if (bytes !== undefined) yield bytes;
      else if (isEnded) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  return {
    input: read(),
    push: (bytes) => {
      if (isEnded) return;
      waiting.push(bytes);
      changed();
    },
    end: () => {
      isEnded = true;
      changed();
    },
  };
}
