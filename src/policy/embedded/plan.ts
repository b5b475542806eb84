/**
 * How a batch is laid out and who computes what: sequences end to end, longest first to the least loaded worker, ties by
 * index, then packed in that order to about 256 rows per product. A pure function of the batch and the thread count,
 * which is what makes a step bit-reproducible for that thread count.
 */

/** A batch as the engine takes it, but for its outputs. */
export interface BatchPlan {
  readonly tokens: Int32Array;
  readonly offsets: Int32Array;
  readonly mask: Uint8Array;
  readonly order: Int32Array;
  readonly packEnds: Int32Array;
  readonly workerEnds: Int32Array;
}

export interface PlannedSequence {
  readonly tokens: Int32Array;
  readonly mask: Uint8Array;
}

/** Rows the engine computes for a sequence: up to the one that predicts its last trained token. */
export function rowsOf({ mask }: PlannedSequence): number {
  return Math.max(0, mask.lastIndexOf(1));
}

export function planBatch(sequences: readonly PlannedSequence[], threads: number, rowsMax: number): BatchPlan {
  const rows = sequences.map(rowsOf);
  const workers = assign(rows, threads);
  const order: number[] = [];
  const packEnds: number[] = [];
  const workerEnds: number[] = [];
  for (const own of workers) {
    let packed = 0;
    own.forEach((sequence, position) => {
      const count = rows[sequence] ?? 0;
      if (position > 0 && packed + count > rowsMax) {
        packEnds.push(order.length);
        packed = 0;
      }
      order.push(sequence);
      packed += count;
    });
    if (own.length > 0) packEnds.push(order.length);
    workerEnds.push(packEnds.length);
  }
  return {
    ...layOut(sequences),
    order: Int32Array.from(order),
    packEnds: Int32Array.from(packEnds),
    workerEnds: Int32Array.from(workerEnds),
  };
}

/** Sequence indices of each worker. Attention grows with the square of the length; at these sizes rows weigh enough. */
function assign(rows: readonly number[], threads: number): number[][] {
  const workers = Array.from({ length: threads }, () => ({ load: 0, own: [] as number[] }));
  const longestFirst = rows.map((_count, index) => index).sort((a, b) => (rows[b] ?? 0) - (rows[a] ?? 0) || a - b);
  for (const sequence of longestFirst) {
    const least = workers.reduce((best, worker) => (worker.load < best.load ? worker : best));
    least.own.push(sequence);
    least.load += rows[sequence] ?? 0;
  }
  return workers.map((worker) => worker.own);
}

function layOut(sequences: readonly PlannedSequence[]): Pick<BatchPlan, "tokens" | "offsets" | "mask"> {
  const total = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const tokens = new Int32Array(total);
  const mask = new Uint8Array(total);
  const offsets = new Int32Array(sequences.length + 1);
  let at = 0;
  sequences.forEach((sequence, index) => {
    tokens.set(sequence.tokens, at);
    mask.set(sequence.mask, at);
    at += sequence.tokens.length;
    offsets[index + 1] = at;
  });
  return { tokens, offsets, mask };
}

/** One array of the flat output for each sequence. */
export function splitBatch(plan: BatchPlan, flat: Float32Array): Float32Array[] {
  return Array.from({ length: plan.offsets.length - 1 }, (_unused, index) =>
    flat.slice(plan.offsets[index], plan.offsets[index + 1]),
  );
}
