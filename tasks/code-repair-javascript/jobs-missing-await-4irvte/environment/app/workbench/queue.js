/** Jobs with priorities, so many at a time. The rules are in README.md. */
import { Bus } from "./bus.js";
import { percentile } from "./quantile.js";
import { tryAgain } from "./retry.js";

export class WorkQueue {
  bus = new Bus();
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

  enqueue(name, work, { priority = 0, times = 1 } = {}) {
    return new Promise((resolve, reject) => {
      const job = { name, priority, work: times === 1 ? work : () => tryAgain(work, { times }), resolve, reject };
      const later = this.#waiting.findIndex((other) => other.priority < priority);
      this.#waiting.splice(later === -1 ? this.#waiting.length : later, 0, job);
      this.#fill();
    });
  }

  report() {
    const at = (share) => percentile(this.#durations, share);
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
    return { kind: "done", value: work() };
  } catch (error) {
    return { kind: "failed", value: error };
  }
}
