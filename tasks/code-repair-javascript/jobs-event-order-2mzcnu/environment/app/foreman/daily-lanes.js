/** Keeps a number within limits. */
export function dailyLanes(value, low = 0, high = 3) {
  return Math.max(low, Math.min(high, value));
}
