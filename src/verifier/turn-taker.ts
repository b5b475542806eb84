/** Lets works that would stop each other, such as claims of several sandboxes, happen one after the other. */

export type TurnTaker = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs what it is given one after the other; a failure is the caller's and stops nobody else. */
export function turnTaker(): TurnTaker {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
