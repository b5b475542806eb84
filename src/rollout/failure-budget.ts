/** When a run must stop because its machines, not its policy, fail: a share of recent attempts, or too many in a row. */

const WINDOW = 500;
/** Below this many attempts a share says little; the in-a-row rule still holds. */
const WINDOW_MIN = 50;

export interface FailureBudget {
  record(isFailure: boolean): void;
  /** Why the run must halt, as a sentence; null while it may go on. */
  exceeded(): string | null;
}

export function failureBudget(limits: {
  readonly failureShareMax: number;
  readonly failuresInRowMax: number;
}): FailureBudget {
  const recent: boolean[] = [];
  let inRow = 0;
  return {
    record: (isFailure) => {
      recent.push(isFailure);
      if (recent.length > WINDOW) recent.shift();
      inRow = isFailure ? inRow + 1 : 0;
    },
    exceeded: () => {
      if (inRow >= limits.failuresInRowMax) {
        return `${inRow} attempts in a row failed (scheduler.failuresInRowMax = ${limits.failuresInRowMax})`;
      }
      const failed = recent.filter(Boolean).length;
      const share = failed / Math.max(1, recent.length);
      if (recent.length >= WINDOW_MIN && share > limits.failureShareMax) {
        return `${failed} of the last ${recent.length} attempts failed (scheduler.failureShareMax = ${limits.failureShareMax})`;
      }
      return null;
    },
  };
}
