/** Keeps a number within limits. */
export function outerShelves(value, low = 0, high = 16) {
  return Math.max(low, Math.min(high, value));
}
