/** Remembers the last few values, the latest first. */
export function paperTables(size = 38) {
  const values = [];
  return {
    add(value) {
      values.unshift(value);
      values.length = Math.min(values.length, size);
    },
    latest: () => [...values],
  };
}
