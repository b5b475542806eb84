/** The sources and rules of the job queue as they are right: a limit, priorities, events, tries, a report. */

export const INDEX = `export { QBus } from "./bus.js";
export { Qmap } from "./map.js";
export { Qquantile } from "./quantile.js";
export { QQueue } from "./queue.js";
export { Qretry } from "./retry.js";
`;

export const BUS = `/** Events by name, told at once to whoever listens. */
export class QBus {
  #listeners = new Map();

  on = (name, listener) => {
    const listeners = this.#listeners.get(name) ?? [];
    if (!listeners.includes(listener)) listeners.push(listener);
    this.#listeners.set(name, listeners);
    return () => this.off(name, listener);
  };

  once = (name, listener) => {
    const off = this.on(name, (...given) => {
      off();
      listener(...given);
    });
    return off;
  };

  off = (name, listener) => {
    const listeners = this.#listeners.get(name) ?? [];
    const at = listeners.indexOf(listener);
    if (at !== -1) listeners.splice(at, 1);
    return at !== -1;
  };

  emit = (name, ...given) => {
    const listeners = this.#listeners.get(name) ?? [];
    let count = 0;
    for (const listener of [...listeners]) {
      if (!listeners.includes(listener)) continue;
      count += 1;
      listener(...given);
    }
    return count;
  };
}
`;

export const QUEUE = `/** Jobs with priorities, so many at a time. The rules are in README.md. */
import { QBus } from "./bus.js";
import { Qquantile } from "./quantile.js";
import { Qretry } from "./retry.js";

export class QQueue {
  bus = new QBus();
  #limit;
  #now;
  #active = 0;
  #waiting = [];
  #durations = [];

  constructor({ limit = 1, now = Date.now } = {}) {
    if (!(limit >= 1)) throw new RangeError("limit must be at least 1");
    this.#limit = limit;
    this.#now = now;
  }

  get active() {
    return this.#active;
  }

  get waiting() {
    return this.#waiting.map(({ name }) => name);
  }

  Qadd(name, work, { priority = 0, times = 1 } = {}) {
    return new Promise((resolve, reject) => {
      const job = { name, priority, work: times === 1 ? work : () => Qretry(work, { times }), resolve, reject };
      const later = this.#waiting.findIndex((other) => other.priority < priority);
      this.#waiting.splice(later === -1 ? this.#waiting.length : later, 0, job);
      this.#fill();
    });
  }

  report() {
    const at = (share) => Qquantile(this.#durations, share);
    return { jobs: this.#durations.length, median: at(0.5), slow: at(0.9), longest: at(1) };
  }

  #fill() {
    while (this.#active < this.#limit && this.#waiting.length > 0) this.#run(this.#waiting.shift());
  }

  async #run({ name, work, resolve, reject }) {
    this.#active += 1;
    const started = this.#now();
    this.bus.emit("start", name);
    const { kind, value } = await outcomeOf(work);
    this.#active -= 1;
    this.#durations.push(this.#now() - started);
    this.bus.emit(kind, name, value);
    if (kind === "done") resolve(value);
    else reject(value);
    this.#fill();
    if (this.#active === 0) this.bus.emit("idle");
  }
}

async function outcomeOf(work) {
  try {
    return { kind: "done", value: await work() };
  } catch (error) {
    return { kind: "failed", value: error };
  }
}
`;

export const RETRY = `const noPause = () => undefined;

/** Runs work(1), work(2) ... until one does well. */
export async function Qretry(work, { times = 3, pause = noPause, isWorthIt = () => true } = {}) {
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
`;

export const MAP = `import { QQueue } from "./queue.js";

/** The results of work(item, index) for every item, in the order of the items. */
export function Qmap(items, limit, work) {
  const queue = new QQueue({ limit });
  const jobs = [];
  for (const [index, item] of [...items].entries()) {
    jobs.push(queue.Qadd(String(index), () => work(item, index)));
  }
  return Promise.all(jobs);
}
`;

export const QUANTILE = `/** The smallest of the values that is at least as large as this share of them; null where there is none. */
export function Qquantile(values, share) {
  if (!(share >= 0 && share <= 1)) throw new RangeError("share must be from 0 to 1");
  const ordered = [...values].sort((one, other) => one - other);
  return ordered[Math.max(0, Math.ceil(share * ordered.length) - 1)] ?? null;
}
`;

export const README = `# PKG

Jobs with priorities, so many at a time. ES modules for Node 18 or newer, without dependencies.

    import { QQueue, QBus, Qmap, Qretry, Qquantile } from "./PKG/index.js";

## new QQueue({ limit, now })

- limit: how many jobs may run at the same time, 1 where nothing is said; below 1 it is a RangeError.
- now: a function that gives the time in milliseconds, Date.now where nothing is said.
- Qadd(name, work, { priority, times }): the promise of what work() gives, or of what it fails with. work may give a value,
  a promise or any other object with a method then. A job takes its place from its start until all of that has ended, well
  or not. It starts at once when a place is free. When a place becomes free, the waiting job of the highest priority starts
  (0 where nothing is said), of equal ones that which was added first.
- times: how often a job is tried, by the rules of Qretry without a pause; 1 where nothing is said.
- active: how many jobs run. waiting: the names of those that wait, in the order in which they will start.
- report(): { jobs, median, slow, longest }, of the jobs that have ended: how many, and the shares 0.5, 0.9 and 1 of how
  long they took, by Qquantile.

Its property bus is a QBus that tells what happens:

- start (name) when a job starts; done (name, value) or failed (name, error) when it has ended, before the next one starts.
- idle when a job has ended, and no job runs or waits any more; each time that this happens, and only then.

## QBus

- on(name, listener): listens, until the function that it gives back is called, or off(name, listener). A listener that
  listens to the name already is not added again. once(name, listener): the same, for one event.
- off says whether there was such a listener.
- emit(name, ...given): calls those who listen to the name, in the order in which they were added, each with what is given,
  and says how many it called.
- One that is taken off while emit is calling, and has not had its turn, is not called. One that is added meanwhile is called
  from the next emit on.
- on, once, off and emit can be handed over by themselves, as in promise.then(bus.emit), and belong to their own bus then as well.

## Qmap(items, limit, work)

The promise of the results of work(item, index) for all items, in the order of the items. items is anything that can be
iterated; index is the number of the item, counted from 0. At most limit of them run at the same time. The first failure is
that of the whole; the others go on.

## Qretry(work, { times, pause, isWorthIt })

Tries work(1), work(2) and so on, at most times times (3 where nothing is said; below 1 it is a RangeError), and gives what
the first one gives that does well. Between two tries it waits for pause(attempt, error), with the number of the try that
has failed. There is no pause before the first try and none after the last. A failure for which isWorthIt(error) is not
true is the last one. What the last try failed with is what the whole fails with: the very same error.

## Qquantile(values, share)

The smallest of the numbers that is at least as large as this share of them: the share 0.5 of 9, 10 and 100 is 10, the share
0 is the smallest, 1 the largest. null where there are no numbers. Numbers may be negative and have fractions, and the list
that was given stays as it was.
`;
