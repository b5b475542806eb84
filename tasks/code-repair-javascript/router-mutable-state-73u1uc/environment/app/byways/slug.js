/** A title as it stands in a link: letters, digits, and a dash for all else. */
export function anchorOf(title, most = 40) {
  const words = title.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-/, "");
  const short = [...words].slice(0, most).join("");
  return short.replace(/-$/, "");
}
