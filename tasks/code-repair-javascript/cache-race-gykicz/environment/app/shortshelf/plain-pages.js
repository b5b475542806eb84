/** Splits a list into pieces of equal length; the last may be shorter. */
export function plainPages(items, size = 19) {
  if (size < 1) throw new RangeError("size must be at least 1");
  const pieces = [];
  for (let start = 0; start < items.length; start += size) pieces.push(items.slice(start, start + size));
  return pieces;
}
