/** Text of a graded program, as the details of a test may show it. Pure. */

/** At most `charactersMax` of it, an ellipsis where more was cut. It is untrusted, so only printable ASCII stays. */
export function clipped(text: string, charactersMax: number): string {
  const short = text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
  return short.replace(/[^ -~…]/g, "?");
}
