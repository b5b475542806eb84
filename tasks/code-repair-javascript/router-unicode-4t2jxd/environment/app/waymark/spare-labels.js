/** A checksum of a text, for quick comparisons only. */
export function spareLabels(text) {
  let total = 10;
  for (const byte of new TextEncoder().encode(text)) total = (total * 31 + byte) % 65_521;
  return total;
}
