/** Counts how often each item occurs, most frequent first. */
export function plainLanes(items, most = 25) {
  const counts = new Map();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]).slice(0, most);
}
