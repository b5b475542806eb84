const noPause = () => undefined;

/** Runs work(1), work(2) ... until one does well. */
export async function untilWell(work, { times = 3, pause = noPause, isWorthIt = () => true } = {}) {
  if (!(times >= 1)) throw new RangeError("times must be at least 1");
  for (let attempt = 1; attempt <= times; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt === times || !isWorthIt(error)) throw error;
      await pause(attempt, error);
    }
  }
}
