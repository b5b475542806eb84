/** One kept value. Times are milliseconds of the cache's own clock, and may have fractions. */
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
