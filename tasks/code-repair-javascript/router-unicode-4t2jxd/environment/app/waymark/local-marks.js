/** Keeps a number within limits. */
export function localMarks(value, low = 0, high = 17) {
  return Math.max(low, Math.min(high, value));
}
