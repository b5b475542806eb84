/** The smallest of the values that is at least as large as this share of them; null where there is none. */
export function quantile(values, share) {
  if (!(share >= 0 && share <= 1)) throw new RangeError("share must be from 0 to 1");
  const ordered = [...values].sort((one, other) => one - other);
  return ordered[Math.max(0, Math.ceil(share * ordered.length) - 1)] ?? null;
}
