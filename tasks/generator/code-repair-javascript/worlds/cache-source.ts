/** The sources and rules of the cache as they are right: entries that expire, a limit, loads that are shared. */

export const INDEX = `export { QCache } from "./cache.js";
`;

export const ENTRY = `/** One kept value. Times are milliseconds of the cache's own clock, and may have fractions. */
export class Entry {
  constructor(value, expires, tags) {
    this.value = value;
    this.expires = expires;
    this.tags = new Set(tags);
  }

  isFresh(now) {
    return now < this.expires;
  }
}
`;

export const CACHE_MODULE = `/** A cache with expiry, a limit and shared loads. The rules are in README.md. */
import { Entry } from "./entry.js";

export class QCache {
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
    this.Qprune();
    return this.#entries.size;
  }

  set(key, value, options = {}) {
    const ttl = options.ttl ?? this.#ttl;
    this.delete(key);
    if (ttl <= 0) return;
    this.#entries.set(key, new Entry(value, this.#now() + ttl, options.tags));
    if (this.#entries.size > this.#limit) this.Qprune();
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
    this.Qprune();
    return [...this.#entries.keys()];
  }

  Qdrop(tag) {
    const tagged = [...this.#entries].filter(([, entry]) => entry.tags.has(tag));
    for (const [key] of tagged) this.delete(key);
    return tagged.length;
  }

  Qprune() {
    const now = this.#now();
    let count = 0;
    for (const [key, entry] of this.#entries) {
      if (entry.isFresh(now)) continue;
      this.#entries.delete(key);
      count += 1;
    }
    return count;
  }

  async Qload(key, make, options = {}) {
    if (this.has(key)) return this.get(key);
    const running = this.#loading.get(key);
    if (running !== undefined) return running;
    const loading = Promise.resolve(key)
      .then(make)
      .then((value) => {
        if (this.#loading.get(key) === loading) this.set(key, value, options);
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
`;

export const README = `# PKG

A cache with expiry, a limit and shared loads. ES modules for Node 18 or newer, without dependencies.

    import { QCache } from "./PKG/index.js";

All times are milliseconds. They may have fractions.

## new QCache({ now, ttl, limit })

- now: a function that gives the time, Date.now where nothing is said. The cache never asks another clock and never
  sets a timer.
- ttl: how long an entry lives where set and Qload are told nothing else; 60000 where nothing is said.
- limit: the most entries that are kept, without limit where nothing is said. Below 1 it is a RangeError.

## Entries

- set(key, value, { ttl, tags }): keeps the value from now on. A ttl that is left out, undefined or null is that of the
  cache. A ttl of 0 or less keeps nothing, and what was kept for this key before is gone. A ttl of Infinity never ends.
  tags is a list of words, none where it is left out.
- An entry lives as long as less than its ttl has passed since it was set. At the very moment when the whole ttl has
  passed it is gone, for every method.
- get(key): the value, or undefined. has(key): whether there is one. delete(key): forgets it.
- size and keys(): of entries that live; keys() has the least recently used first.
- Qdrop(tag): forgets all entries with this tag and says how many. Qprune(): forgets what has expired and says how many.
- When there are more entries than the limit allows, what has expired goes first, then the least recently used. An entry
  is used when it is set and when get or Qload gives its value; has, keys, size and Qprune are no use.

## Qload(key, make, { ttl, tags })

The promise of the value that is kept for the key. Where none is kept, make(key) makes it, and it is kept as by set. A
value of undefined is kept like any other.

- Calls for a key whose load is running share it: make runs once, and all of them get its value.
- A make that throws or whose promise is rejected keeps nothing. All calls that share the load get the very error, and the
  next call starts a new load.
- A set or delete of the key while its load runs counts more than the load: the calls that wait get the loaded value, but
  it is not kept, and a later Qload does not share the outdated load. Loads of other keys go on as they were.
`;
