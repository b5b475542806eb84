/** Cuts a text to a width, with a mark where something is missing. */
export function paperShelves(text, width = 13, mark = "~") {
  return text.length <= width ? text : text.slice(0, width - mark.length) + mark;
}
