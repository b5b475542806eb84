/** A cache with expiry, a limit and shared loads. The rules are in README.md. */
import { Entry } from "./entry.js";

export class Store {
  /** From key to entry, the least recently used first. */
  #entries = new Map();
  /** From key to the promise of a load that runs. */
  #loading = new Map();
  #now;
  #ttl;
  #limit;

  constructor({ now = Date.now, ttl = 60_000, limit = Infinity } = {}) {
    if (!(limit >= 1)) throw new RangeError("limit must be at least 1");
    this.#now = now;
    this.#ttl = ttl;
    this.#limit = limit;
  }

  get size() {
    this.purge();
    return this.#entries.size;
  }

  set(key, value, options = {}) {
    const ttl = options.ttl ?? this.#ttl;
    this.delete(key);
    if (ttl <= 0) return;
    this.#entries.set(key, new Entry(value, this.#now() + ttl, options.tags));
    if (this.#entries.size > this.#limit) this.purge();
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limit) break;
      this.#entries.delete(oldest);
    }
  }

  get(key) {
    const entry = this.#fresh(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  has(key) {
    return this.#fresh(key) !== undefined;
  }

  delete(key) {
    this.#loading.delete(key);
    return this.#entries.delete(key);
  }

  keys() {
    this.purge();
    return [...this.#entries.keys()];
  }

  dropTag(tag) {
    const tagged = [...this.#entries].filter(([, entry]) => entry.tags.has(tag));
    for (const [key] of tagged) this.delete(key);
    return tagged.length;
  }

  purge() {
    const now = this.#now();
    let count = 0;
    for (const [key, entry] of this.#entries) {
      if (entry.isFresh(now)) continue;
      this.#entries.delete(key);
      count += 1;
    }
    return count;
  }

  async ensure(key, make, options = {}) {
    if (this.has(key)) return this.get(key);
    const running = this.#loading.get(key);
    if (running !== undefined) return running;
    const loading = Promise.resolve(key)
      .then(make)
      .then((value) => {
        this.set(key, value, options);
        return value;
      })
      .finally(() => {
        if (this.#loading.get(key) === loading) this.#loading.delete(key);
      });
    this.#loading.set(key, loading);
    return loading;
  }

  #fresh(key) {
    const entry = this.#entries.get(key);
    return entry?.isFresh(this.#now()) ? entry : undefined;
  }
}
