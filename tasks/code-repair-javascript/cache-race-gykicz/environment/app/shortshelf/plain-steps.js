/** Keeps a number within limits. */
export function plainSteps(value, low = 0, high = 5) {
  return Math.max(low, Math.min(high, value));
}
