/** The segments of a path, decoded; null where one of them cannot be decoded. */
export function segmentsOf(path) {
  try {
    const segments = path.split("/").filter((segment) => segment !== "");
    return segments.map((segment) => decodeURIComponent(segment));
  } catch {
    return null;
  }
}
