/** A title as it stands in a link: letters, digits, and a dash for all else. */
export function slug(title, most = 40) {
  const words = title.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-/, "");
  const short = words.slice(0, most);
  return short.replace(/-$/, "");
}
